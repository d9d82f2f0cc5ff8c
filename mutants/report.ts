import { areaOf, passes, type Result, sourceOf, testOf } from './mutant.ts';

export const HEADINGS = ['mutant', 'area', 'what it does', 'caught by', 'seconds'] as const;

export function cellsOf({ mutant, outcome, seconds }: Result): string[] {
  const caughtBy = outcome === 'caught' ? `${mutant.caughtBy.file}: ${mutant.caughtBy.test}` : outcome.toUpperCase();
  return [mutant.name, areaOf(mutant), mutant.what, caughtBy, seconds.toFixed(0)];
}

/** How many of the mutants that were caught needed no more than the short suite. */
export function shareOfShort(results: readonly Result[]): string {
  const caught = results.filter(passes);
  const short = caught.filter(({ suite }) => suite === 'short').length;
  return `The short suite catches ${short} of ${results.length}, and the long suite ${caught.length - short} more.`;
}

/** For programs: every figure of the table, and where to look. */
export function asJson(results: readonly Result[]): unknown {
  return {
    passed: results.every(passes),
    results: results.map((result) => ({
      mutant: result.mutant.name,
      what: result.mutant.what,
      file: sourceOf(result.mutant),
      testFile: testOf(result.mutant),
      test: result.mutant.caughtBy.test,
      outcome: result.outcome,
      suite: result.suite,
      seconds: Math.round(result.seconds * 10) / 10,
      output: result.output,
    })),
  };
}
