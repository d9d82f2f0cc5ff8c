import type { FamilyName } from './fleet/new-network.ts';
import type { Pairs } from './matrix.ts';
import type { Violation } from './oracle/laws.ts';

/** What the command asks of a worker: one run, or the shortest list of operations that still breaks a law. */
export type Job = {
  readonly seed: number;
  readonly network: FamilyName;
  readonly operations: number;
  readonly engine: 'sqlite' | 'postgres';
  readonly instances: number;
  /** The operations of the list that are carried out; all of them where none is named. */
  readonly only?: readonly number[] | undefined;
  readonly isTraced?: boolean;
  /** Shrinks the list if the run breaks this law, or any law for `first`. */
  readonly shrinks?: string | undefined;
};

/** What a worker found. */
export type SeedResult = {
  readonly seed: number;
  /** The same for every run of the seed on SQLite. */
  readonly hash: string;
  readonly violations: readonly Violation[];
  /** By law, how many things it looked at. */
  readonly checked: Readonly<Record<string, number>>;
  /** By operation, how often it was carried out. */
  readonly occurred: Readonly<Record<string, number>>;
  readonly pairs: Pairs;
  /** Errors of the service that are neither a rejection nor an outage. */
  readonly unexpected: readonly string[];
  readonly operations: number;
  readonly receipts: number;
  readonly virtualMs: number;
  readonly realMs: number;
  readonly trace?: readonly string[];
  readonly shrunk?: Shrunk;
};

/** The shortest list that breaks a law. */
export type Shrunk = {
  readonly law: string;
  readonly violation: string;
  readonly operations: readonly { readonly index: number; readonly name: string; readonly atMs: number }[];
};

/** A run that came to no verdict, such as one that stands still. */
export type FailedSeed = { readonly seed: number; readonly failure: string };

export function isFailed(result: SeedResult | FailedSeed): result is FailedSeed {
  return 'failure' in result;
}

/** One or two by turns, unless a number is given. */
export function instancesFor(seed: number, given: number | null): number {
  return given ?? 1 + (seed % 2);
}
