import type { Suite } from '../test/runner/suites.ts';
import { isLong, type Mutant, type Outcome, type Result, testOf } from './mutant.ts';
import { runTests, type TestRun } from './run-tests.ts';
import { Workspace } from './workspace.ts';

/** All tests of the catalogue together, without a mutant. */
const LONGEST_CHECK_MS = 600_000;

export type RunOptions = {
  readonly mutants: readonly Mutant[];
  readonly atOnce: number;
  readonly databaseUrl: string;
  /** `share` is from 0 to 1. */
  readonly onProgress: (share: number, doing: string) => void;
  readonly onResult: (result: Result) => void;
};

/** In the order of the catalogue. Each run has a copy of the tree, and shares only the machine and PostgreSQL. */
export async function runMutants(options: RunOptions): Promise<Result[]> {
  const { mutants, atOnce } = options;
  const workspaces = Array.from({ length: Math.min(atOnce, mutants.length) }, () => new Workspace());
  try {
    for (const mutant of mutants) workspaces[0]?.check(mutant);
    options.onProgress(0, 'the tests without a mutant');
    await allEnded(workspaces.map((workspace, index) => checkTests(workspace, options, index)));
    return await testMutants(workspaces, options);
  } finally {
    for (const workspace of workspaces) workspace.remove();
  }
}

/** A test that fails anyway catches nothing. */
async function checkTests(
  workspace: Workspace,
  { mutants, atOnce, databaseUrl }: RunOptions,
  index: number,
): Promise<void> {
  const byFile = [...Map.groupBy(mutants, testOf)].filter((_, place) => place % atOnce === index);
  if (byFile.length === 0) return;
  const run = await runTests(workspace, {
    files: byFile.map(([file]) => file),
    tests: byFile.flatMap(([, some]) => some.map(({ caughtBy }) => caughtBy.test)),
    databaseUrl,
    bail: false,
    longestMs: LONGEST_CHECK_MS,
  });
  if (run.isPassed) return;
  const failed = [...new Set(run.failed)].join('\n');
  throw new Error(`Without a mutant the tests fail:\n${failed}\n\n${run.output}`);
}

async function testMutants(workspaces: readonly Workspace[], options: RunOptions): Promise<Result[]> {
  const { mutants, databaseUrl, onProgress, onResult } = options;
  const results: Result[] = [];
  let next = 0;
  let done = 0;
  const work = async (workspace: Workspace) => {
    for (let index = next++; index < mutants.length; index = next++) {
      const mutant = mutants[index];
      if (mutant === undefined) return;
      onProgress(done / mutants.length, mutant.name);
      const result = await testMutant(workspace, mutant, databaseUrl);
      results[index] = result;
      done++;
      onResult(result);
    }
  };
  await allEnded(workspaces.map(work));
  return results;
}

/** Rejects like `Promise.all`, but not while another still uses its workspace. */
async function allEnded(runs: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(runs);
  await Promise.all(runs);
}

async function testMutant(workspace: Workspace, mutant: Mutant, databaseUrl: string): Promise<Result> {
  const startedAtMs = performance.now();
  const tests = { files: [testOf(mutant)], tests: [mutant.caughtBy.test], databaseUrl, bail: true };
  const runIn = (suite: Suite) => workspace.with(mutant, () => runTests(workspace, { ...tests, suite }));
  let suite: Suite = isLong(mutant) ? 'long' : 'short';
  let run = await runIn(suite);
  if (suite === 'short' && outcomeOf(run, mutant) === 'survived') {
    suite = 'long';
    run = await runIn(suite);
  }
  const outcome = outcomeOf(run, mutant);
  const seconds = (performance.now() - startedAtMs) / 1_000;
  return { mutant, outcome, suite, seconds, output: outcome === 'caught' ? '' : run.output };
}

function outcomeOf({ isPassed, isEnded, failed }: TestRun, { caughtBy }: Mutant): Outcome {
  if (isEnded || failed.some((title) => title.includes(caughtBy.test))) return 'caught';
  return isPassed ? 'survived' : 'broken';
}
