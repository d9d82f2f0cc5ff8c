import { resolve } from 'node:path';
import type { Entered, ServiceRun } from './service-run.ts';

/**
 * How much code a reader opens to trace a request: the files of `src` in which a function runs because of one list
 * request, and because of one event from `POST /events` to its completed delivery. Exits with 1 above the limits.
 */

const LIMITS = { list: 16, event: 52 } as const;
const SUBJECTS = ['list', 'event'] as const;
type Subject = (typeof SUBJECTS)[number];
/** Timers are held, but work that one began before may still be under way on a busy machine: it is not in every run. */
const MAX_RUNS = 5;

const runs: ServiceRun[] = [];
do runs.push(await runService());
while (runs.length < MAX_RUNS && !SUBJECTS.every(isWithinLimits));

for (const subject of SUBJECTS) print(subject, enteredBy(subject));
process.exitCode = SUBJECTS.every(isWithinLimits) ? 0 : 1;

function isWithinLimits(subject: Subject): boolean {
  return Object.values(enteredBy(subject)).every((files) => files.length <= LIMITS[subject]);
}

function enteredBy(subject: Subject): Entered {
  return {
    first: inEveryRun((run) => run[subject].first),
    second: inEveryRun((run) => run[subject].second),
    later: inEveryRun((run) => run[subject].later),
  };
}

async function runService(): Promise<ServiceRun> {
  const child = Bun.spawn([process.execPath, resolve(import.meta.dir, 'service-run.ts')], {
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' },
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const [output, exitCode] = await Promise.all([child.stdout.text(), child.exited]);
  if (exitCode !== 0) throw new Error(`The service run ended with ${exitCode}.`);
  return JSON.parse(output) as ServiceRun;
}

function inEveryRun(filesOf: (run: ServiceRun) => readonly string[]): string[] {
  const [one, ...others] = runs.map(filesOf);
  return (one ?? []).filter((file) => others.every((files) => files.includes(file)));
}

function print(subject: Subject, entered: Entered): void {
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
