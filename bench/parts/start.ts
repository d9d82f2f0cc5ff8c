import { resolve } from 'node:path';
import { buildExecutable } from '../../build/executable.ts';
import { acceptAndDeliver, TO_ONE } from '../delivery/accept-and-deliver.ts';
import { startCountingReceiver } from '../delivery/counting-receiver.ts';
import { deliverySettings, firstCaller, register } from '../harness/paybell-api.ts';
import { freePort, residentBytes, startPaybell, tempFolder } from '../harness/processes.ts';
import { interleave, medianOf } from '../harness/rounds.ts';
import type { Tools } from '../harness/tools.ts';
import { lower, type PartResult } from '../report/report.ts';

/** From the command to the first response, with a store that does not exist yet; and the memory of the executable. */

const MAX_WAIT_MS = 30_000;
const EVENTS = 20_000;
const MEBIBYTE = 1024 ** 2;

export async function benchStart({ mode, progress }: Tools): Promise<PartResult> {
  progress('build');
  const executable = resolve(tempFolder(), 'paybell');
  await buildExecutable(executable);
  // Bun keeps the files that it has compiled in the home directory. The first start there is not measured.
  const home = tempFolder();
  const subjects = [
    { name: 'checkout', measure: () => startOnce(home) },
    { name: 'executable', measure: () => startOnce(home, executable) },
  ];
  for (const { measure } of subjects) await measure();
  const rounds = await interleave(subjects, mode.starts, progress);
  const row = (what: string, name: string, floor: number, target: number) => {
    const seconds = medianOf(rounds, name, 'seconds');
    return {
      what: `${what}, start to first 200, empty store`,
      figures: `${seconds.toFixed(2)} s`,
      check: lower(seconds, floor, target, ' s'),
    };
  };
  const memory = mode.quick ? null : await measureMemory(executable, progress);
  const sizes =
    memory === null
      ? []
      : [sizeRow('idle', memory.idle, 80, 50), sizeRow('after 20,000 events', memory.after, 160, 100)];
  return {
    rows: [row('checkout', 'checkout', 0.6, 0.25), row('executable', 'executable', 0.25, 0.08), ...sizes],
    charts: [],
    raw: { start: rounds },
  };
}

function sizeRow(when: string, bytes: number, most: number, target: number) {
  const size = bytes / MEBIBYTE;
  return {
    what: `executable, resident memory ${when}`,
    figures: `${size.toFixed(0)} MB`,
    check: lower(size, most, target, ' MB'),
  };
}

async function startOnce(home: string, executable?: string): Promise<{ seconds: number }> {
  const port = freePort();
  const startedAtMs = performance.now();
  const starting = startPaybell({
    settings: { DATABASE_URL: `sqlite:${tempFolder()}/paybell.db`, PORT: String(port), HOME: home },
    // The runtime compiles on threads of its own, and there is no load that they could slow down.
    place: 'anywhere',
    ...(executable !== undefined && { executable }),
  });
  await firstResponse(`http://127.0.0.1:${port}/readyz`, startedAtMs + MAX_WAIT_MS);
  const seconds = (performance.now() - startedAtMs) / 1_000;
  await (await starting).stop();
  return { seconds };
}

async function measureMemory(
  executable: string,
  progress: Tools['progress'],
): Promise<{ idle: number; after: number }> {
  progress('memory');
  const receiver = await startCountingReceiver(1);
  const server = await startPaybell({ settings: deliverySettings(`sqlite:${tempFolder()}/paybell.db`), executable });
  const caller = firstCaller(server);
  await register(server, caller, TO_ONE.event, receiver.urls);
  const idle = await residentBytes(server.pid);
  await acceptAndDeliver({ server, caller, sql: null }, receiver, TO_ONE, EVENTS);
  const after = await residentBytes(server.pid);
  await server.stop();
  await receiver.stop();
  return { idle, after };
}

async function firstResponse(url: string, deadlineMs: number): Promise<void> {
  while (performance.now() < deadlineMs) {
    const response = await fetch(url).catch(() => null);
    if (response?.status === 200) return;
    await Bun.sleep(2);
  }
  throw new Error(`${url} did not respond in time`);
}
