import type { Mode } from './mode.ts';

/** The input of every part. */
export type Tools = {
  readonly mode: Mode;
  readonly progress: (doing: string) => void;
  /** The folder for the CPU profile of the Paybell of that name, or null without `--profile`. */
  readonly profile: (name: string) => string | null;
};
