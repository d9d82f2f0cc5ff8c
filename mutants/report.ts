import { MUTANTS } from './catalogue.ts';
import { areaOf, passes, type Result, sourceOf, testOf } from './mutant.ts';
import type { Published } from './publish.ts';

export const HEADINGS = ['mutant', 'area', 'what it does', 'caught by', 'suite', 'seconds'] as const;

export const PUBLISHED: Published = {
  ...{ catalogue: MUTANTS, run: 'run', table: 'table', headings: HEADINGS },
  summary: (rows) => shareOf(rows.map((cells) => cells[HEADINGS.indexOf('suite')])),
};

export function cellsOf({ mutant, outcome, suite, seconds }: Result): string[] {
  const caughtBy = outcome === 'caught' ? `${mutant.caughtBy.file}: ${mutant.caughtBy.test}` : outcome.toUpperCase();
  return [mutant.name, areaOf(mutant), mutant.what, caughtBy, suite, seconds.toFixed(0)];
}

/** How many of the mutants that were caught needed no more than the short suite. */
export function shareOfShort(results: readonly Result[]): string {
  return shareOf(results.map((result) => (passes(result) ? result.suite : null)));
}

function shareOf(suites: readonly (string | null | undefined)[]): string {
  const count = (suite: string) => suites.filter((one) => one === suite).length;
  return `The short suite catches ${count('short')} of ${suites.length}, and the long suite ${count('long')} more.`;
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
