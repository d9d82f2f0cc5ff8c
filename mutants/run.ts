import { type Mutant, type Outcome, passes, type Result, testOf } from './mutant.ts';
import { runTests, type TestRun } from './run-tests.ts';
import { Workspace } from './workspace.ts';

export type RunOptions = {
  readonly mutants: readonly Mutant[];
  readonly atOnce: number;
  readonly databaseUrl: string;
  readonly onProgress: (done: number, doing: string) => void;
  readonly onResult: (result: Result) => void;
};

/** In the order of the catalogue. Each run has a copy of the tree, and shares only the machine and PostgreSQL. */
export async function runMutants(options: RunOptions): Promise<Result[]> {
  const { mutants, atOnce } = options;
  const workspaces = Array.from({ length: Math.min(atOnce, mutants.length) }, () => new Workspace());
  try {
    options.onProgress(0, 'the tests without a mutant');
    await Promise.all(workspaces.map((workspace, index) => checkTests(workspace, options, index)));
    return await testMutants(workspaces, options);
  } finally {
    for (const workspace of workspaces) workspace.remove();
  }
}

/** A test that fails anyway catches nothing. */
async function checkTests(workspace: Workspace, { mutants, atOnce, databaseUrl }: RunOptions, index: number) {
  const byFile = [...Map.groupBy(mutants, testOf)].filter((_, place) => place % atOnce === index);
  if (byFile.length === 0) return;
  const run = await runTests(workspace, {
    files: byFile.map(([file]) => file),
    tests: byFile.flatMap(([, some]) => some.map(({ caughtBy }) => caughtBy.test)),
    databaseUrl,
    isBail: false,
    longestMs: LONGEST_CHECK_MS,
  });
  if (!run.isPassed) throw new Error(`Without a mutant the tests fail:\n${run.failed.join('\n') || run.output}`);
}

const LONGEST_CHECK_MS = 600_000;

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
  await Promise.all(workspaces.map(work));
  return results;
}

async function testMutant(workspace: Workspace, mutant: Mutant, databaseUrl: string): Promise<Result> {
  const startedAtMs = performance.now();
  const tests = { files: [testOf(mutant)], tests: [mutant.caughtBy.test], databaseUrl, isBail: true };
  const run = await workspace.with(mutant, () => runTests(workspace, tests));
  const result = { mutant, outcome: outcomeOf(run, mutant), seconds: (performance.now() - startedAtMs) / 1_000 };
  return { ...result, output: passes({ ...result, output: '' }) ? '' : run.output };
}

function outcomeOf({ isPassed, isEnded, failed }: TestRun, { caughtBy }: Mutant): Outcome {
  if (isEnded || failed.some((title) => title.includes(caughtBy.test))) return 'caught';
  return isPassed ? 'survived' : 'broken';
}
