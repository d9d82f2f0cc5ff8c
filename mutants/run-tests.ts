import { type ChildProcess, spawn } from 'node:child_process';
import type { Suite } from '../test/runner/suites.ts';
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

const running = new Set<ChildProcess>();
let isStopped = false;

/** Runs tests of the workspace in a process group of their own, of which nothing is left afterwards. */
export function runTests(workspace: Workspace, options: TestRunOptions): Promise<TestRun> {
  const { files, tests, databaseUrl, suite, bail, longestMs = LONGEST_RUN_MS } = options;
  const title = tests.map((test) => test.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  return workspace.withTemp(async (temp) => {
    if (isStopped) throw new Error('the run was interrupted');
    const { promise, resolve, reject } = Promise.withResolvers<TestRun>();
    const child = spawn(
      process.execPath,
      ['test', '--timeout=120000', ...(bail ? ['--bail'] : []), ...files, '-t', title],
      {
        cwd: workspace.folder,
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, TEST_SUITE: suite ?? '', TEST_DATABASE_URL: databaseUrl, TEST_TEMP: temp, TMPDIR: temp },
      },
    );
    running.add(child);
    let output = '';
    let isEnded = false;
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (output += part));
    const timer = setTimeout(() => {
      isEnded = true;
      endGroup(child);
    }, longestMs);
    child.on('error', reject);
    // Processes that a test has left would keep the output open.
    child.on('exit', () => endGroup(child));
    child.on('close', (code) => {
      clearTimeout(timer);
      running.delete(child);
      if (isStopped) reject(new Error('the run was interrupted'));
      const failed = [...output.matchAll(/^\(fail\) (.*?)(?: \[[\d.]+\w+\])?$/gm)].map(([, name = '']) => name);
      resolve({ isPassed: code === 0, isEnded, failed, output: output.slice(-SHOWN_CHARACTERS) });
    });
    return promise;
  });
}

/** Ends the runs in progress, which reject, and lets no other start. */
export function stopRuns(): void {
  isStopped = true;
  for (const child of running) endGroup(child);
}

/** With the processes that a test has started and not ended. */
function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
}
