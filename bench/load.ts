import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { wrkScript } from './load/wrk-script.ts';
import { cpuSeconds, removeFolder, runProgram, tempFolder } from './processes.ts';
import type { Caller } from './seed.ts';

/** A load generator in a process of its own: wrk where it is installed, autocannon from npm otherwise. */

export const generator = Bun.which('wrk') === null ? 'autocannon' : 'wrk';
export const CONNECTIONS = 32;
const MAX_SECONDS = 300;

/** Requests number `from`, `from + 1` …: each another caller, and another query once all callers had their turn. */
export type Load = {
  readonly url: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly callers: readonly Caller[];
  /** With their question mark, or empty. */
  readonly queries?: readonly string[];
  readonly from?: number;
  /** Whole ones: wrk knows no others. */
  readonly seconds: number;
  readonly connections?: number;
};

/** `errors` counts refused and broken requests alike. */
export type LoadResult = {
  readonly requests: number;
  readonly errors: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
};

export function runLoad(load: Load): Promise<LoadResult> {
  return generate<LoadResult>(load);
}

/** Ends after so many answers instead of after some time. */
export async function runAmount(load: Omit<Load, 'seconds'>, amount: number): Promise<void> {
  await generate({ ...load, amount, seconds: MAX_SECONDS });
}

/** What a generator is told. */
export type Order = Load & { readonly amount?: number };

async function generate<Result extends Pick<LoadResult, 'requests' | 'errors'>>(order: Order): Promise<Result> {
  const folder = tempFolder();
  try {
    const result = await (generator === 'wrk' ? runWrk<Result>(order, folder) : runAutocannon<Result>(order, folder));
    if (result.errors > 0) throw new Error(`${result.errors} of ${result.requests} requests to ${order.url} failed`);
    return result;
  } finally {
    removeFolder(folder);
  }
}

/** With the share of its core that the server was busy: well under 1 means that something else was the limit. */
export async function loadServer(server: { url: string; pid: number }, load: Omit<Load, 'url'>, path: string) {
  const before = cpuSeconds(server.pid);
  const startedAtMs = performance.now();
  const result = await runLoad({ ...load, url: server.url + path });
  const elapsedS = (performance.now() - startedAtMs) / 1_000;
  const after = cpuSeconds(server.pid);
  return { ...result, busy: before === null || after === null ? Number.NaN : (after - before) / elapsedS };
}

function runWrk<Result>(load: Order, folder: string): Promise<Result> {
  const script = join(folder, 'script.lua');
  writeFileSync(script, wrkScript(load, folder));
  const connections = String(load.connections ?? CONNECTIONS);
  const command = ['wrk', '--threads', '1', '--connections', connections, '--duration', `${load.seconds}s`];
  return runProgram([...command, '--script', script, load.url], 'load');
}

function runAutocannon<Result>(load: Order, folder: string): Promise<Result> {
  const file = join(folder, 'load.json');
  writeFileSync(file, JSON.stringify({ connections: CONNECTIONS, ...load }));
  return runProgram(['node', resolve(import.meta.dir, 'load/autocannon.js'), file], 'load');
}
