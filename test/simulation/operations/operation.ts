import type { Scope, Simulation } from '../simulation.ts';
import type { Random } from '../world/random.ts';

/** One entry of the list that a seed makes. It keeps its time and its own random numbers when others are removed. */
export type Operation = {
  readonly index: number;
  readonly name: string;
  readonly atMs: number;
  readonly seed: number;
};

/** What users, networks, receivers and machines do. */
export type Action = {
  /** How often it is drawn, compared with the others. */
  readonly weight: number;
  /** Begins it, and returns what it concerns; null if there is nothing to do it to. */
  readonly begin: (simulation: Simulation, draw: Random, operation: Operation) => Scope | null;
};

export type Actions = Readonly<Record<string, Action>>;
