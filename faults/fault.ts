import type { Engine } from '../test/support/stores.ts';

/** What a fault is given to run with. */
export type Trial = {
  readonly engine: Engine;
  readonly tries: number;
  /** Leases end at once instead of by the clock, and outages are as short as they can be: for the short form. */
  readonly hurry: boolean;
  readonly note: (doing: string) => void;
};

/** What a fault has done to the service, counted at the receiver. */
export type Finding = {
  /** Events that were answered with 2xx. */
  readonly acknowledged: number;
  /** Of these, how many reached every webhook that had asked for them, byte for byte. */
  readonly delivered: number;
  /** Posts of a delivery beyond its first. */
  readonly duplicated: number;
  /** The longest that it took, from the end of the fault until everything acknowledged had arrived. */
  readonly recoveredInMs: number;
  /** Every promise that was not kept, as a sentence; empty when all is well. */
  readonly broken: readonly string[];
};

export type Fault = {
  readonly name: string;
  /** What is done, for the table's readers. */
  readonly what: string;
  readonly engines: readonly Engine[];
  /** How often in the long form and in the short one. */
  readonly tries: { readonly long: number; readonly short: number };
  /** Null where this machine does not allow what it takes: then nothing is known, and nothing is claimed. */
  readonly run: (trial: Trial) => Promise<Finding | null>;
};

/** Longer than this after the end of a fault is not recovered. */
export const RECOVERY_LIMIT_MS = 60_000;

export type Result = Finding & { readonly fault: string; readonly engine: Engine; readonly tries: number };

export function lostOf({ acknowledged, delivered }: Finding): number {
  return acknowledged - delivered;
}

export function isKept(finding: Finding): boolean {
  return lostOf(finding) === 0 && finding.broken.length === 0 && finding.recoveredInMs <= RECOVERY_LIMIT_MS;
}

/** Of tries that each had a store of their own. */
export function addUp(findings: readonly Finding[]): Finding {
  const sum = (count: (finding: Finding) => number) => findings.reduce((total, finding) => total + count(finding), 0);
  return {
    acknowledged: sum(({ acknowledged }) => acknowledged),
    delivered: sum(({ delivered }) => delivered),
    duplicated: sum(({ duplicated }) => duplicated),
    recoveredInMs: Math.max(...findings.map(({ recoveredInMs }) => recoveredInMs)),
    broken: [...new Set(findings.flatMap(({ broken }) => broken))],
  };
}
