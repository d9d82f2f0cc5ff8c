import { resolve } from 'node:path';
import type { Entered, ServiceRun } from './service-run.ts';

/**
 * How much code a reader opens to trace a request: the files of `src` in which a function runs because of one list
 * request, and because of one event from `POST /events` to its completed delivery. Exits with 1 above the limits.
 */

const LIMITS = { list: 16, event: 48 } as const;
/** Waits before the first request. They differ so that a timer of the service falls into at most one of the runs. */
const IDLE_MS = [300, 700, 1_150];

const runs: ServiceRun[] = [];
for (const idleMs of IDLE_MS) runs.push(await runService(idleMs));

let withinLimits = true;
for (const subject of ['list', 'event'] as const) {
  const first = inEveryRun((run) => run[subject].first);
  const second = inEveryRun((run) => run[subject].second);
  print(subject, { first, second });
  if (Math.max(first.length, second.length) > LIMITS[subject]) withinLimits = false;
}
process.exitCode = withinLimits ? 0 : 1;

async function runService(idleMs: number): Promise<ServiceRun> {
  const child = Bun.spawn([process.execPath, resolve(import.meta.dir, 'service-run.ts'), String(idleMs)], {
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' },
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const [output, exitCode] = await Promise.all([child.stdout.text(), child.exited]);
  if (exitCode !== 0) throw new Error(`The service run ended with ${exitCode}.`);
  return JSON.parse(output) as ServiceRun;
}

/** A file entered by a timer that happened to fire is missing from the other runs. */
function inEveryRun(filesOf: (run: ServiceRun) => readonly string[]): string[] {
  const [one, ...others] = runs.map(filesOf);
  return (one ?? []).filter((file) => others.every((files) => files.includes(file)));
}

function print(subject: keyof typeof LIMITS, { first, second }: Entered): void {
  const what = { list: 'One list request', event: 'One event, from POST /events to its completed delivery' }[subject];
  console.log(`${what}: ${first.length} files, ${second.length} when repeated (at most ${LIMITS[subject]})`);
  const files = [...new Set([...first, ...second])].sort();
  for (const file of files) {
    const only = !second.includes(file) ? '  (first only)' : !first.includes(file) ? '  (repeated only)' : '';
    console.log(`  ${file}${only}`);
  }
  console.log('');
}
