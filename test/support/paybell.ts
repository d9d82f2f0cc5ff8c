import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Subprocess } from 'bun';
import { PROGRAM, SOURCE } from './program.ts';
import { tempBase } from './temp-base.ts';

/** Paybell as a separate process in a folder of its own, with the given settings and those of all tests. */

export type Settings = Readonly<Record<string, string>>;
export type Finished = { exitCode: number; stdout: string; stderr: string };

export function tempFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tempBase(), 'paybell-run-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** No test may fail because the machine is slow or its disk is busy. Opening connections takes most of PostgreSQL's time in tests. */
const TEST_SETTINGS = { DATABASE_TIMEOUT: '60s', DATABASE_POOL: '8' };

function spawn(command: readonly string[], folder: string, settings: Settings) {
  return Bun.spawn([...command], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder, ...TEST_SETTINGS, ...settings },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
}

/** The source where something is preloaded, which may change it. */
function programFor(settings: Settings): readonly string[] {
  return 'BUN_OPTIONS' in settings ? SOURCE : PROGRAM;
}

/** Runs one command and waits for its end. For tests of the process; `commandLine` needs none. */
export function runPaybell(args: readonly string[], folder: string, settings: Settings = {}): Promise<Finished> {
  return runProgram(programFor(settings), args, folder, settings);
}

/** Starts one command, for tests that kill it. */
export function startPaybell(args: readonly string[], folder: string, settings: Settings = {}): Subprocess {
  return spawn([...programFor(settings), ...args], folder, settings);
}

/** The same for another form of Paybell, such as an executable. */
export async function runProgram(
  program: readonly string[],
  args: readonly string[],
  folder: string,
  settings: Settings = {},
): Promise<Finished> {
  const child = spawn([...program, ...args], folder, settings);
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { exitCode, stdout, stderr };
}

export type Served = {
  readonly url: string;
  readonly child: Subprocess;
  /** Everything printed so far. */
  readonly stdout: () => string;
  /** Sends the signal and waits for the exit. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<Finished>;
};

/** Starts `paybell serve` on a free port and waits until it listens. */
export function servePaybell(folder: string, settings: Settings = {}): Promise<Served> {
  return serveProgram(programFor(settings), folder, settings);
}

export async function serveProgram(
  program: readonly string[],
  folder: string,
  settings: Settings = {},
): Promise<Served> {
  const child = spawn([...program, 'serve'], folder, { PORT: '0', ...settings });
  let stdout = '';
  const started = Promise.withResolvers<string>();
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) {
      stdout += decoder.decode(chunk, { stream: true });
      const url = /is listening on (http:\S+)[\s\S]*API reference/.exec(stdout)?.[1];
      if (url !== undefined) started.resolve(url);
    }
  })();
  const stderr = child.stderr.text();
  const finish = async (): Promise<Finished> => {
    await reading;
    return { exitCode: await child.exited, stdout, stderr: await stderr };
  };
  const exited = finish().then((end): never => {
    throw new Error(`paybell serve exited with ${end.exitCode} before it listened: ${end.stderr || end.stdout}`);
  });
  const url = await Promise.race([started.promise, exited]);
  exited.catch(() => undefined);
  return {
    url,
    child,
    stdout: () => stdout,
    stop: (signal = 'SIGTERM') => {
      child.kill(signal);
      return finish();
    },
  };
}

/** The entity that the first start creates, and its key: in a file, because the output of these processes is not a terminal. */
export function firstCredentials(stdout: string): { entityId: string; apiKey: string } | null {
  const [, entityId, quoted] =
    /export PAYBELL_ENTITY_ID=(ent_\w+) PAYBELL_API_KEY="\$\(cat (.+?)\)"/.exec(stdout) ?? [];
  if (entityId === undefined || quoted === undefined) return null;
  const keyFile = quoted.startsWith("'") ? quoted.slice(1, -1).replaceAll("'\\''", "'") : quoted;
  return { entityId, apiKey: readFileSync(keyFile, 'utf8').trim() };
}
