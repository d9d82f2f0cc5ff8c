import type { Engine } from '../test/support/stores.ts';

export type RunOptions = {
  readonly engine: Engine;
  readonly trials: number;
  /** Leases expire at once and outages are as short as possible: for the tests. */
  readonly fast: boolean;
  readonly progress: (doing: string) => void;
};

/** The effect of a fault on the service, measured at the receiver. */
export type Finding = {
  /** Events with a 2xx response. */
  readonly acknowledged: number;
  /** Acknowledged events that every webhook registered for them received, byte for byte. */
  readonly delivered: number;
  /** Requests of a delivery after its first. */
  readonly duplicated: number;
  /** The longest time from the end of the fault until every acknowledged event had arrived. */
  readonly recoveredInMs: number;
  /** Every guarantee that did not hold, as a sentence. */
  readonly violations: readonly string[];
};

export type Fault = {
  readonly name: string;
  /** What happens, for the table in the documentation. */
  readonly what: string;
  readonly engines: readonly Engine[];
  /** The number of trials in `npm run faults` and in the tests. */
  readonly trials: { readonly long: number; readonly short: number };
  /** Resolves to null where this machine cannot inject the fault. */
  readonly run: (options: RunOptions) => Promise<Finding | null>;
};

/** The service has to recover within this time after the end of a fault. */
const RECOVERY_LIMIT_MS = 60_000;
/** In tests the machine may be slow: they show that it recovers, and long runs how soon. */
const RECOVERY_LIMIT_IN_TESTS_MS = 300_000;

export function recoveryLimitMs({ fast }: Pick<RunOptions, 'fast'>): number {
  return fast ? RECOVERY_LIMIT_IN_TESTS_MS : RECOVERY_LIMIT_MS;
}

export type Result = Finding & { readonly fault: string; readonly engine: Engine; readonly trials: number };

export function lostOf({ acknowledged, delivered }: Finding): number {
  return acknowledged - delivered;
}

export function passes(finding: Finding): boolean {
  return lostOf(finding) === 0 && finding.violations.length === 0 && finding.recoveredInMs <= RECOVERY_LIMIT_MS;
}

/** For trials that each have a store of their own. */
export function sumFindings(findings: readonly Finding[]): Finding {
  const sum = (count: (finding: Finding) => number) => findings.reduce((total, finding) => total + count(finding), 0);
  return {
    acknowledged: sum(({ acknowledged }) => acknowledged),
    delivered: sum(({ delivered }) => delivered),
    duplicated: sum(({ duplicated }) => duplicated),
    recoveredInMs: Math.max(...findings.map(({ recoveredInMs }) => recoveredInMs)),
    violations: [...new Set(findings.flatMap(({ violations }) => violations))],
  };
}
