import type { Suite } from '../test/runner/suites.ts';
import { runProcess } from './run-process.ts';
import type { Workspace } from './workspace.ts';

/** A mutant that leaves a test waiting for something that never comes is found by this. */
const LONGEST_RUN_MS = 90_000;
const SHOWN_CHARACTERS = 2_000;

export type TestRun = {
  readonly isPassed: boolean;
  /** It was ended, because it took too long. */
  readonly isEnded: boolean;
  /** The titles of the tests that failed. */
  readonly failed: readonly string[];
  /** The end of what was printed. */
  readonly output: string;
};

export type TestRunOptions = {
  readonly files: readonly string[];
  /** Parts of the titles of the tests to run. */
  readonly tests: readonly string[];
  /** Of the server on which the tests create their databases. */
  readonly databaseUrl: string;
  /** Decides the engine and the number of runs; a run without a suite has both engines. */
  readonly suite?: Suite;
  /** Whether the first failure ends the run. */
  readonly bail: boolean;
  readonly longestMs?: number;
};

/** Runs tests of the workspace. */
export async function runTests(workspace: Workspace, options: TestRunOptions): Promise<TestRun> {
  const { files, tests, databaseUrl, suite, bail, longestMs = LONGEST_RUN_MS } = options;
  const title = tests.map((test) => test.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  const { code, isEnded, output } = await runProcess(workspace, {
    args: ['test', '--timeout=120000', ...(bail ? ['--bail'] : []), ...files, '-t', title],
    environment: { TEST_SUITE: suite ?? '', TEST_DATABASE_URL: databaseUrl },
    longestMs,
  });
  const failed = [...output.matchAll(/^\(fail\) (.*?)(?: \[[\d.]+\w+\])?$/gm)].map(([, name = '']) => name);
  return { isPassed: code === 0, isEnded, failed, output: output.slice(-SHOWN_CHARACTERS) };
}
