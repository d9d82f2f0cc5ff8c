import type { Suite } from '../test/runner/suites.ts';
import { inWorkspaces, type RunOptions } from './in-workspaces.ts';
import { isLong, type Mutant, type Outcome, type Result, testOf } from './mutant.ts';
import { runTests, type TestRun } from './run-tests.ts';
import type { Workspace } from './workspace.ts';

/** All tests of the catalogue together, without a mutant. */
const LONGEST_CHECK_MS = 600_000;

type Options = RunOptions<Mutant, Result> & { readonly databaseUrl: string };

/** In the order of the catalogue. Each run has a copy of the tree, and shares only the machine and PostgreSQL. */
export function runMutants(options: Options): Promise<Result[]> {
  return inWorkspaces(options, {
    prepare: (workspace, index) => checkTests(workspace, options, index),
    test: (workspace, mutant) => testMutant(workspace, mutant, options.databaseUrl),
  });
}

/** A test that fails anyway catches nothing. */
async function checkTests(
  workspace: Workspace,
  { mutants, atOnce, databaseUrl }: Options,
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
  const isSlowAnyway = run.isEnded && (await runTests(workspace, { ...tests, suite })).isEnded;
  const outcome = isSlowAnyway ? 'broken' : outcomeOf(run, mutant);
  const seconds = (performance.now() - startedAtMs) / 1_000;
  return { mutant, outcome, suite, seconds, output: outcome === 'caught' ? '' : run.output };
}

function outcomeOf({ isPassed, isEnded, failed }: TestRun, { caughtBy }: Mutant): Outcome {
  if (isEnded || failed.some((title) => title.includes(caughtBy.test))) return 'caught';
  return isPassed ? 'survived' : 'broken';
}
