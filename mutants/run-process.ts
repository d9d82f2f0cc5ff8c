import { type ChildProcess, spawn } from 'node:child_process';
import type { Workspace } from './workspace.ts';

export type ProcessRun = {
  readonly code: number | null;
  /** It was ended, because it took too long. */
  readonly isEnded: boolean;
  readonly stdout: string;
  /** Everything that was printed. */
  readonly output: string;
};

export type ProcessOptions = {
  /** Of Bun. */
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly longestMs: number;
};

const running = new Set<ChildProcess>();
let isStopped = false;

/** Runs a command in the workspace, in a process group of its own, of which nothing is left afterwards. */
export function runProcess(workspace: Workspace, options: ProcessOptions): Promise<ProcessRun> {
  const { args, environment, longestMs } = options;
  return workspace.withTemp(async (temp) => {
    if (isStopped) throw new Error('the run was interrupted');
    const { promise, resolve, reject } = Promise.withResolvers<ProcessRun>();
    const child = spawn(process.execPath, args, {
      cwd: workspace.folder,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...environment, TEST_TEMP: temp, TMPDIR: temp },
    });
    running.add(child);
    let [stdout, output] = ['', ''];
    let isEnded = false;
    child.stdout.on('data', (part) => (stdout += part));
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
      resolve({ code, isEnded, stdout, output });
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
