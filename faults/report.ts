import { isKept, lostOf, type Result } from './fault.ts';

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
  const { fault, engine, tries, acknowledged, delivered, duplicated, recoveredInMs } = result;
  const counts = [tries, acknowledged, delivered, lostOf(result), duplicated].map(String);
  return [fault, engine, ...counts, isKept(result) ? `${(recoveredInMs / 1_000).toFixed(1)} s` : 'NOT RECOVERED'];
}

/** For programs: every figure of the table, and what was not kept. */
export function asJson(results: readonly Result[]): unknown {
  return {
    kept: results.every(isKept),
    results: results.map((result) => ({
      fault: result.fault,
      engine: result.engine,
      tries: result.tries,
      acknowledged: result.acknowledged,
      delivered: result.delivered,
      lost: lostOf(result),
      duplicated: result.duplicated,
      recoveredInMs: Math.round(result.recoveredInMs),
      broken: result.broken,
    })),
  };
}
