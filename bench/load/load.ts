import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { takeNumbers } from '../harness/event-bodies.ts';
import { removeFolder, runProgram, tempFolder } from '../harness/processes.ts';
import { cpuSeconds } from '../harness/processor-time.ts';
import type { Sample } from '../harness/rounds.ts';
import type { Load, Order } from './order.ts';
import { wrkScript } from './wrk-script.ts';

/** A load generator in a process of its own: wrk where it is installed, `sockets-process.ts` otherwise. */

const hasWrk = Bun.which('wrk') !== null;
export const generator = hasWrk ? 'wrk' : 'bench/load/sockets-process.ts';
export const CONNECTIONS = 64;
const MAX_SECONDS = 300;
/** wrk sends its first request within this time; an interrupt before that would end it without a report. */
const WRK_START_MS = 50;

/** `errors` counts responses of 4xx and 5xx and failed connections. */
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

/** Ends after `amount` responses. Each request is about another transfer, including those in flight at the end. */
export async function runAmount(load: Omit<Load, 'seconds' | 'from'>, amount: number): Promise<void> {
  const from = takeNumbers(amount + (load.connections ?? CONNECTIONS));
  await generate({ ...load, from, amount, seconds: MAX_SECONDS });
}

async function generate<Result extends Pick<LoadResult, 'requests' | 'errors'>>(order: Order): Promise<Result> {
  const folder = tempFolder();
  try {
    const result = await (hasWrk ? runWrk<Result>(order, folder) : runSockets<Result>(order, folder));
    if (result.errors > 0) throw new Error(`${result.errors} of ${result.requests} requests to ${order.url} failed`);
    return result;
  } finally {
    removeFolder(folder);
  }
}

/** Includes the processor time of the server, see `withCpu`. */
export function loadServer(server: Measured, load: Omit<Load, 'url'>, path: string): Promise<Sample> {
  return withCpu(server, async () => {
    const result = await runLoad({ ...load, url: server.url + path });
    return { ...result, operations: result.requests };
  });
}

type Measured = { readonly url: string; readonly pid: number };

/**
 * `busy` is the share of a core that the server used: well under 1 means that something else was the limit. The processor
 * time of an operation hardly changes when the machine is busy with other work.
 */
export async function withCpu(
  server: Measured,
  measure: () => Promise<Sample & { operations: number }>,
): Promise<Sample> {
  const before = cpuSeconds(server.pid);
  const startedAtMs = performance.now();
  const sample = await measure();
  const elapsedS = (performance.now() - startedAtMs) / 1_000;
  const after = cpuSeconds(server.pid);
  if (before === null || after === null) return sample;
  return {
    ...sample,
    busy: (after - before) / elapsedS,
    cpuMicroseconds: ((after - before) / sample.operations) * 1e6,
  };
}

/** wrk takes whole seconds only, so it is interrupted earlier; it reports what it did until then. */
function runWrk<Result>(load: Order, folder: string): Promise<Result> {
  const script = join(folder, 'script.lua');
  writeFileSync(script, wrkScript(load, folder));
  const connections = String(load.connections ?? CONNECTIONS);
  const command = [
    'wrk',
    '--threads',
    '1',
    '--connections',
    connections,
    '--duration',
    `${Math.ceil(load.seconds) + 1}s`,
  ];
  const interruptAfterMs = load.seconds * 1_000 + WRK_START_MS;
  return runProgram([...command, '--script', script, load.url], 'load', interruptAfterMs);
}

function runSockets<Result>(load: Order, folder: string): Promise<Result> {
  const file = join(folder, 'order.json');
  writeFileSync(file, JSON.stringify({ connections: CONNECTIONS, ...load }));
  return runProgram([process.execPath, resolve(import.meta.dir, 'sockets-process.ts'), file], 'load');
}
