import { describe, expect, test } from 'bun:test';
import { Job } from '../../src/delivery/jobs/job.ts';
import { Workers } from '../../src/delivery/worker-health.ts';
import { createLogger } from '../../src/log.ts';
import { Registry } from '../../src/metrics/registry.ts';
import { type CallOptions, SilentWorkerError, StoreUnavailableError } from '../../src/store/database/database.ts';
import { acceptMany, createEngine, newReceiver, ScriptedSender, statuses } from '../support/deliveries.ts';
import { parseMetrics, sampleOf } from '../support/prometheus.ts';
import { alteredStore, onSuiteEngine } from '../support/stores.ts';
import { until } from '../support/until.ts';

const ERROR = new Error('no room');

function atTime() {
  const clock = { nowMs: 1_000_000 };
  return { clock, workers: new Workers(() => clock.nowMs) };
}

describe('a worker', () => {
  test('keeps failing from the third failure in a row and thirty seconds after the first, and not before', () => {
    const { clock, workers } = atTime();
    const health = workers.add('claims');
    health.noteFailure(ERROR);
    clock.nowMs += 29_999;
    health.noteFailure(ERROR);
    health.noteFailure(ERROR);
    expect(workers.failing()).toEqual([]);
    clock.nowMs += 1;
    expect(workers.failing()).toEqual([
      { worker: 'claims', failuresInARow: 3, failingForSeconds: 30, lastError: 'Error: no room' },
    ]);
  });

  test('does not keep failing with two failures, however long ago', () => {
    const { clock, workers } = atTime();
    const health = workers.add('retention');
    health.noteFailure(ERROR);
    health.noteFailure(ERROR);
    clock.nowMs += 86_400_000;
    expect(workers.failing()).toEqual([]);
  });

  test('does not fail because one worker of Citus is silent', () => {
    const { clock, workers } = atTime();
    const health = workers.add('records');
    for (let count = 0; count < 9; count++) {
      health.noteFailure(new SilentWorkerError('one:5432'));
      clock.nowMs += 30_000;
    }
    expect(workers.failing()).toEqual([]);
  });

  test('is healthy after a success, and while it has nothing to do', () => {
    const { clock, workers } = atTime();
    const health = workers.add('claims');
    workers.add('idle');
    for (let count = 0; count < 9; count++) health.noteFailure(ERROR);
    clock.nowMs += 60_000;
    expect(workers.failing()).toHaveLength(1);
    health.failuresInARow = 0;
    clock.nowMs += 86_400_000;
    expect(workers.failing()).toEqual([]);
    health.noteFailure(ERROR);
    expect(health.failingForMs).toBe(0);
  });

  test.each([
    ['relation "queue" does not exist', 'Error: relation "queue" does not exist'],
    ['invalid input: "25.00 to Ann"', 'Error: invalid input: "…"'],
    [`bad value 'pbk_0123456789'`, 'Error: bad value "…"'],
    ['no response from postgres://user:pass@db.example/x', 'Error: no response from postgres://db.example/x'],
    ['two\n   lines', 'Error: two lines'],
    ['x'.repeat(1_000), `Error: ${'x'.repeat(193)}`],
  ])('tells its last error without values and credentials: %p', (message, lastError) => {
    const { clock, workers } = atTime();
    const health = workers.add('claims');
    for (let count = 0; count < 3; count++) health.noteFailure(new Error(message));
    clock.nowMs += 30_000;
    expect(workers.failing()).toMatchObject([{ lastError }]);
  });

  test('has its failures in the metrics', async () => {
    const { clock, workers } = atTime();
    const registry = new Registry();
    workers.observe(registry);
    workers.add('sweep');
    workers.add('claims').noteFailure(ERROR);
    clock.nowMs += 1_500;
    const metrics = parseMetrics(await registry.text());
    const read = (name: string) => ['claims', 'sweep'].map((worker) => sampleOf(metrics, name, { worker }));
    expect(read('paybell_worker_failures_in_a_row')).toEqual([1, 0]);
    expect(read('paybell_worker_failing_seconds')).toEqual([1.5, 0]);
  });

  test('is a job that fails at each run, until one succeeds', async () => {
    const { clock, workers } = atTime();
    let runs = 0;
    const run = async () => {
      clock.nowMs += 15_000;
      if (++runs < 4) throw ERROR;
    };
    const job = new Job({ name: 'sweep', log: createLogger('silent'), workers, everyMs: 3_600_000, run });
    for (const failing of [[], [], [{ worker: 'sweep', failuresInARow: 3 }], []]) {
      job.wake();
      await Bun.sleep(1);
      expect(workers.failing()).toMatchObject(failing);
    }
    await job.stop();
  });
});

onSuiteEngine('an engine', (store) => {
  /** Fails the transactions that the test chooses, as long as it says so. */
  function flakyStore(isChosen: (options?: CallOptions) => boolean) {
    const fails = { now: false, times: 0 };
    const db = alteredStore(store.db, {
      transaction: (work, options) => {
        if (!fails.now || !isChosen(options)) return store.db.transaction(work, options);
        fails.times++;
        return Promise.reject(new StoreUnavailableError('no room'));
      },
    });
    return { db, fails };
  }

  test('whose claims fail says so until they succeed', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    const { db, fails } = flakyStore(() => true);
    const { clock, workers } = atTime();
    const engine = createEngine(db, new ScriptedSender(), { workers });
    await engine.start();
    fails.now = true;
    engine.wake();
    await until('three claims have failed', () => fails.times >= 3);
    clock.nowMs += 30_000;
    expect(workers.failing()).toMatchObject([{ worker: 'claims', lastError: 'StoreUnavailableError: no room' }]);
    fails.now = false;
    await until('it is delivered', async () => (await statuses(store.db, entityId)).includes('delivered'));
    await until('nothing fails', () => workers.failing().length === 0);
    await engine.stop();
  });

  test('that cannot record its attempts says so until it can', async () => {
    const { entityId } = await newReceiver(store.db);
    // Nothing else here waits for another transaction to share its commit.
    const { db, fails } = flakyStore((options) => options?.maxCommitDelayMs !== undefined);
    const { clock, workers } = atTime();
    const engine = createEngine(db, new ScriptedSender(), { workers });
    await engine.start();
    fails.now = true;
    await acceptMany(store.db, entityId, 1);
    engine.wake();
    await until('it was recorded three times in vain', () => fails.times >= 3);
    clock.nowMs += 30_000;
    expect(workers.failing()).toMatchObject([{ worker: 'records', lastError: 'StoreUnavailableError: no room' }]);
    fails.now = false;
    await until('it is delivered', async () => (await statuses(store.db, entityId)).includes('delivered'));
    await until('it is not failing any more', () => workers.failing().length === 0);
    await engine.stop();
  });
});
