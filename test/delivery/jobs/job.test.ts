import { expect, test } from 'bun:test';
import pino from 'pino';
import { Job, type JobOptions } from '../../../src/delivery/jobs/job.ts';
import { Workers } from '../../../src/delivery/worker-health.ts';
import { until } from '../../support/until.ts';

const NEVER_MS = 3_600_000;

/** A job that counts its runs, and the log lines that it writes. */
function countingJob(options: Partial<JobOptions> = {}) {
  const counts = { runs: 0, atOnce: 0, mostAtOnce: 0 };
  const lines: { msg: string; job: string }[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) });
  const run: JobOptions['run'] = async (signal) => {
    counts.runs++;
    counts.atOnce++;
    counts.mostAtOnce = Math.max(counts.mostAtOnce, counts.atOnce);
    try {
      await options.run?.(signal);
    } finally {
      counts.atOnce--;
    }
  };
  return { counts, lines, job: new Job({ name: 'test', log, everyMs: NEVER_MS, ...options, run }) };
}

test('a job runs after its first delay and then at its interval, until it is stopped', async () => {
  const { counts, job } = countingJob({ firstAfterMs: 1, everyMs: 2 });
  expect(counts.runs).toBe(0);
  job.start();
  await until('it has run three times', () => counts.runs >= 3);
  await job.stop();
  const { runs } = counts;
  await Bun.sleep(20);
  expect(counts.runs).toBe(runs);
});

test('a job that left work for later runs again when that is due', async () => {
  const { counts, job } = countingJob({ firstAfterMs: 0, leftWorkMs: () => 1 });
  job.start();
  // Throws if the job waits for its interval, which is an hour.
  await until('it has run three times', () => counts.runs >= 3);
  await job.stop();
});

test('a job waits for its interval when it has no first delay', async () => {
  const { counts, job } = countingJob();
  job.start();
  await Bun.sleep(20);
  await job.stop();
  expect(counts.runs).toBe(0);
});

test('a job that is woken runs at once, whether it was started or not', async () => {
  const { counts, job } = countingJob();
  job.wake();
  expect(counts.runs).toBe(1);
  await Bun.sleep(1);
  job.start();
  job.wake();
  expect(counts.runs).toBe(2);
  await job.stop();
});

test('a job that is woken during a run, however often, runs once more after it and never twice at a time', async () => {
  const gate = Promise.withResolvers<void>();
  const { counts, job } = countingJob({ run: () => gate.promise });
  for (let wake = 0; wake < 5; wake++) job.wake();
  expect(counts.runs).toBe(1);
  gate.resolve();
  await until('it has run again', () => counts.runs === 2 && counts.atOnce === 0);
  await Bun.sleep(20);
  await job.stop();
  expect(counts).toEqual({ runs: 2, atOnce: 0, mostAtOnce: 1 });
});

test('a run that fails is logged with the name of the job and made up for after the retry delay', async () => {
  let failures = 1;
  const run = async () => {
    if (failures-- > 0) throw new Error('the store is away');
  };
  const { counts, lines, job } = countingJob({ run, firstAfterMs: 0, retryAfterMs: 1 });
  job.start();
  await until('it has run again', () => counts.runs === 2);
  await Bun.sleep(20);
  await job.stop();
  expect(counts.runs).toBe(2);
  expect(lines).toMatchObject([{ msg: expect.stringContaining('background job failed'), job: 'test' }]);
});

test('a job that makes its instance not ready is tried again soon, so that the instance is ready soon after the cause', async () => {
  const clock = { nowMs: 0 };
  const workers = new Workers(() => clock.nowMs);
  let isAway = true;
  const run = async () => {
    if (isAway) throw new Error('the store is away');
  };
  const { counts, job } = countingJob({ run, workers });
  for (const failures of [1, 2, 3]) {
    job.wake();
    await until('it has failed again', () => counts.runs === failures && counts.atOnce === 0);
    clock.nowMs += 15_000;
  }
  expect(workers.failing()).toHaveLength(1);
  isAway = false;
  await until('it is ready again', () => workers.failing().length === 0);
  await job.stop();
});

test('stopping aborts the signal of the run in progress and waits for its end', async () => {
  let isFinished = false;
  const run = (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      signal.addEventListener('abort', () =>
        setTimeout(() => {
          isFinished = true;
          resolve();
        }, 5),
      );
    });
  const { counts, job } = countingJob({ run });
  job.wake();
  job.wake();
  await job.stop();
  expect({ isFinished, runs: counts.runs }).toEqual({ isFinished: true, runs: 1 });
});

test('a stopped job is not woken again', async () => {
  const { counts, job } = countingJob();
  await job.stop();
  job.wake();
  job.start();
  await Bun.sleep(5);
  expect(counts.runs).toBe(0);
});

test('a job that runs at its stop does so once, after the run in progress', async () => {
  const { counts, job } = countingJob({ runAtStop: true, run: () => Bun.sleep(5) });
  job.wake();
  await job.stop();
  expect(counts).toEqual({ runs: 2, atOnce: 0, mostAtOnce: 1 });
});

test('jitter spreads the waits of instances that started together', async () => {
  const startedAtMs = performance.now();
  const ran: number[] = [];
  let firstMs: number | undefined;
  const jobs = Array.from({ length: 50 }, (_, index) => {
    const run = async () => {
      ran.push(index);
      firstMs ??= performance.now() - startedAtMs;
    };
    return countingJob({ run, firstAfterMs: 100, jitter: 0.5 }).job;
  });
  for (const job of jobs) job.start();
  await until('all have run', () => ran.length === jobs.length);
  for (const job of jobs) await job.stop();
  expect(firstMs).toBeGreaterThanOrEqual(74);
  // On a busy machine all may run late and at once, but in the order of their waits.
  expect(ran).not.toEqual([...jobs.keys()]);
});
