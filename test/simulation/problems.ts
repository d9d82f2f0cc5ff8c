import { type FailedSeed, isFailed, type SeedResult } from './job.ts';

/** What a reader of a failed run needs to repeat it. */
export function problemsOf(results: readonly (SeedResult | FailedSeed)[]): string[] {
  return results.flatMap((one) => {
    if (isFailed(one)) return `seed ${one.seed}: ${one.failure}`;
    const violations = one.violations.map(({ law, text }) => `seed ${one.seed}: ${law}: ${text}`);
    return [...violations, ...one.unexpected.map((text) => `seed ${one.seed}: ${text}`)];
  });
}
