import type { Mode } from './mode.ts';

/** What every part is given. */
export type Tools = {
  readonly mode: Mode;
  readonly progress: (doing: string) => void;
  /** A folder for the processor profile of the Paybell of that name, or null when none is wanted. */
  readonly profile: (name: string) => string | null;
};
