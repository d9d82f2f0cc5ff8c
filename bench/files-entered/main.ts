import { resolve } from 'node:path';
import type { Entered, ServiceRun } from './service-run.ts';

/**
 * How much code a reader opens to trace a request: the files of `src` in which a function runs because of one list
 * request, and because of one event from `POST /events` to its completed delivery. Exits with 1 above the limits.
 */

const LIMITS = { list: 16, event: 52 } as const;
/** Waits before the first request. They differ so that a timer of the service falls into at most one of the runs. */
const IDLE_MS = [300, 700, 1_150];

/** Only timers enter these; on a busy machine one may fire in every run. */
const BY_TIMERS = new Set(
  [
    'metrics/process-metrics.ts',
    'delivery/jobs/job.ts',
    'delivery/jobs/heartbeat.ts',
    'delivery/jobs/fan-out.ts',
    'delivery/queue/claimer.ts',
    'delivery/queue/destination-scan.ts',
    'delivery/queue/wake-signal.ts',
    'store/deliveries/claim/claim.ts',
    'store/deliveries/claim/claim-heads.ts',
    'store/deliveries/claim/due-heads.ts',
    'store/deliveries/claim/head-looks.ts',
    'store/deliveries/claim/leases.ts',
    'store/deliveries/claim/load-claimed.ts',
    'store/events/fan-out.ts',
    'store/instances.ts',
  ].map((file) => `src/${file}`),
);

const runs: ServiceRun[] = [];
for (const idleMs of IDLE_MS) runs.push(await runService(idleMs));

let withinLimits = true;
for (const subject of ['list', 'event'] as const) {
  const entered = {
    first: inEveryRun((run) => run[subject].first),
    second: inEveryRun((run) => run[subject].second),
    later: inEveryRun((run) => run[subject].later),
  };
  print(subject, entered);
  if (Object.values(entered).some((files) => files.length > LIMITS[subject])) withinLimits = false;
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
  return (one ?? []).filter((file) => !BY_TIMERS.has(file) && others.every((files) => files.includes(file)));
}

function print(subject: keyof typeof LIMITS, entered: Entered): void {
  const what = { list: 'One list request', event: 'One event, from POST /events to its completed delivery,' }[subject];
  const requests = Object.entries(entered);
  const counts = requests.map(([which, files]) => `${files.length} (${which})`).join(', ');
  console.log(`${what} enters ${counts} files, at most ${LIMITS[subject]} allowed`);
  for (const file of [...new Set(requests.flatMap(([, files]) => files))].sort()) {
    const by = requests.filter(([, files]) => files.includes(file)).map(([which]) => which);
    console.log(by.length === requests.length ? `  ${file}` : `  ${file}  (${by.join(' and ')} only)`);
  }
  console.log('');
}
