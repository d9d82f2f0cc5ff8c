import { lostOf, passes, type Result } from './fault.ts';

export const HEADINGS = [
  'fault',
  'engine',
  'trials',
  'acknowledged',
  'delivered',
  'lost',
  'duplicated',
  'recovered in',
] as const;

export function cellsOf(result: Result): string[] {
  const { fault, engine, trials, acknowledged, delivered, duplicated, recoveredInMs } = result;
  const counts = [trials, acknowledged, delivered, lostOf(result), duplicated].map(String);
  return [fault, engine, ...counts, passes(result) ? `${(recoveredInMs / 1_000).toFixed(1)} s` : 'NOT RECOVERED'];
}

/** For programs: every figure of the table, and the violations. */
export function asJson(results: readonly Result[]): unknown {
  return {
    passed: results.every(passes),
    results: results.map((result) => ({
      fault: result.fault,
      engine: result.engine,
      trials: result.trials,
      acknowledged: result.acknowledged,
      delivered: result.delivered,
      lost: lostOf(result),
      duplicated: result.duplicated,
      recoveredInMs: Math.round(result.recoveredInMs),
      violations: result.violations,
    })),
  };
}
