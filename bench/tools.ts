import type { Mode } from './mode.ts';

/** What every part is given. */
export type Tools = {
  readonly mode: Mode;
  readonly progress: (doing: string) => void;
  /** A folder for processor profiles of what is measured, or null. */
  readonly profile: string | null;
};
