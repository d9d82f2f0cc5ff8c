import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Subprocess } from 'bun';

/** Everything that is measured runs as a process of its own, pinned to a core of its own where `taskset` is there. */

const MAIN = resolve(import.meta.dir, '../../src/main.ts');
const START_TIMEOUT_MS = 60_000;

export const canPin = Bun.which('taskset') !== null && availableParallelism() > 1;

/** One core for what is measured, another for the load generator. */
const CORES = { subject: '0', load: '1' } as const;
export type Place = keyof typeof CORES | 'anywhere';

export function placed(place: Place, command: readonly string[]): string[] {
  return canPin && place !== 'anywhere' ? ['taskset', '-c', CORES[place], ...command] : [...command];
}

/** Moves a running process, and those that it starts, off the core of what is measured. */
export function keepOffSubject(pid: number): void {
  allowCoresFrom(1, pid);
}

/** Takes `keepOffSubject` back. */
export function allowAllCores(pid: number): void {
  allowCoresFrom(0, pid);
}

function allowCoresFrom(first: number, pid: number): void {
  if (canPin) Bun.spawnSync(['taskset', '--cpu-list', '--pid', `${first}-${availableParallelism() - 1}`, String(pid)]);
}

const running = new Set<Subprocess>();
const folders = new Set<string>();

export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'paybell-bench-'));
  folders.add(folder);
  return folder;
}

export function removeFolder(folder: string): void {
  if (!folders.has(folder)) return;
  rmSync(folder, { recursive: true, force: true });
  folders.delete(folder);
}

/** Ends every process that was started here and removes its files, also after a failure or Ctrl-C. */
export async function cleanUp(): Promise<void> {
  for (const child of running) child.kill('SIGKILL');
  await Promise.all([...running].map((child) => child.exited));
  for (const folder of [...folders]) removeFolder(folder);
}

const EXIT_INTERRUPTED = 130;

/** Calls `stop` and ends the process, whose children would otherwise outlive it. */
export function stopOnSignal(stop: () => Promise<void>): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void stop().finally(() => process.exit(EXIT_INTERRUPTED)));
  }
}

export type Server = {
  readonly url: string;
  readonly pid: number;
  /** What it printed until it was listening. */
  readonly greeting: string;
  readonly stop: () => Promise<void>;
};

type StartOptions = {
  readonly place: Place;
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly folder?: string;
  /** Matches the output once the server listens, and the first group is the URL; or what responds once it does. */
  readonly listening: RegExp | Health;
};

/** For a server that does not print that it listens. */
export type Health = { readonly url: string; readonly path: string };

export async function startServer(options: StartOptions): Promise<Server> {
  const child = Bun.spawn(placed(options.place, options.command), {
    cwd: options.folder ?? process.cwd(),
    env: { PATH: process.env.PATH ?? '', HOME: options.folder ?? tmpdir(), ...options.environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  running.add(child);
  void child.exited.then(() => running.delete(child));
  const listening = Promise.withResolvers<{ url: string; greeting: string }>();
  void follow(child.stdout, options.listening, listening.resolve);
  if (!(options.listening instanceof RegExp)) void untilHealthy(options.listening, child, listening.resolve);
  const errors = child.stderr.text();
  void child.exited.then(async (code) =>
    listening.reject(new Error(`${options.command.join(' ')} ended with ${code}: ${await errors}`)),
  );
  const timer = setTimeout(
    () => listening.reject(new Error(`${options.command.join(' ')} did not listen in time`)),
    START_TIMEOUT_MS,
  );
  const { url, greeting } = await listening.promise.finally(() => clearTimeout(timer));
  const stop = async () => {
    child.kill('SIGTERM');
    await child.exited;
  };
  return { url, pid: child.pid, greeting, stop };
}

/** Reads until the end of the stream, since the child would block on a full pipe. */
async function follow(
  stream: ReadableStream<Uint8Array>,
  listening: RegExp | Health,
  listens: (where: { url: string; greeting: string }) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  let greeting: string | null = '';
  for await (const chunk of stream) {
    if (greeting === null || !(listening instanceof RegExp)) continue;
    greeting += decoder.decode(chunk, { stream: true });
    const url = listening.exec(greeting)?.[1];
    if (url === undefined) continue;
    listens({ url, greeting });
    greeting = null;
  }
}

const LOOK_EVERY_MS = 5;

async function untilHealthy(
  { url, path }: Health,
  child: Subprocess,
  listens: (where: { url: string; greeting: string }) => void,
): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    const response = await fetch(url + path).catch(() => null);
    if (response?.ok) return listens({ url, greeting: '' });
    await Bun.sleep(LOOK_EVERY_MS);
  }
}

export type Settings = Readonly<Record<string, string>>;

/** A fixed key, because instances on the same store need the same one. */
export const BENCH_SECRET_KEY = Buffer.alloc(32, 9).toString('base64');

/** Runs one command and waits for its end. */
export async function runPaybell(args: readonly string[], settings: Settings): Promise<void> {
  await runCommand([process.execPath, MAIN, ...args], settings);
}

/** Runs a command to its end and returns what it printed. */
export async function runCommand(command: readonly string[], environment: Settings): Promise<string> {
  const child = Bun.spawn([...command], {
    env: { PATH: process.env.PATH ?? '', HOME: tmpdir(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${stderr || stdout}`);
  return stdout;
}

type PaybellOptions = {
  readonly settings: Settings;
  /** Another checkout than this one, to compare with. */
  readonly checkout?: string;
  /** What `npm run build` makes, in place of a checkout. */
  readonly executable?: string;
  readonly place?: Place;
  /** The folder of the CPU profile that is written at its end. */
  readonly profile?: string | null;
};

/** `paybell serve` with default settings, except for the rate limits, which would limit the measurement. */
export function startPaybell(options: PaybellOptions): Promise<Server> {
  const { settings, checkout, executable, place = 'subject', profile = null } = options;
  const main = checkout === undefined ? MAIN : resolve(checkout, 'src/main.ts');
  const profiling = profile === null ? [] : ['--cpu-prof', '--cpu-prof-md', `--cpu-prof-dir=${profile}`];
  return startServer({
    place,
    command: executable === undefined ? [process.execPath, ...profiling, main, 'serve'] : [executable, 'serve'],
    environment: {
      PORT: '0',
      RATE_LIMIT: 'off',
      EVENT_RATE_LIMIT: 'off',
      SECRET_KEY: BENCH_SECRET_KEY,
      ...settings,
    },
    folder: tempFolder(),
    listening: /is listening on (http:\S+)[\s\S]*API reference/,
  });
}

/** Starts a program of bench/ that prints the URL it listens on. */
export function startProgram(file: string, input: unknown, place: Place, runtime = process.execPath): Promise<Server> {
  return startServer({
    place,
    command: [runtime, resolve(import.meta.dir, '..', file), JSON.stringify(input)],
    listening: /listening on (http:\S+)/,
  });
}

/** Runs a program to its end, or interrupts it, and returns the JSON that it printed. */
export async function runProgram<Output>(
  command: readonly string[],
  place: Place,
  interruptAfterMs?: number,
): Promise<Output> {
  const child = Bun.spawn(placed(place, command), { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  running.add(child);
  const interrupt = () => child.kill('SIGINT');
  const timer = interruptAfterMs === undefined ? undefined : setTimeout(interrupt, interruptAfterMs);
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  clearTimeout(timer);
  running.delete(child);
  const json = /^\{.*\}$/m.exec(stdout)?.[0];
  if (code !== 0 || json === undefined) throw new Error(`${command[0]} ended with ${code}: ${stderr || stdout}`);
  return JSON.parse(json) as Output;
}

export async function residentBytes(pid: number): Promise<number> {
  const child = Bun.spawn(['ps', '-o', 'rss=', '-p', String(pid)], { stdout: 'pipe' });
  return Number(await child.stdout.text()) * 1024;
}

export function freePort(): number {
  const probe = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
  const port = probe.port ?? 0;
  void probe.stop(true);
  return port;
}
