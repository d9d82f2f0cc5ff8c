import { expect, test } from 'bun:test';
import { ClockStepDetector, clockStepJob } from '../../../src/delivery/jobs/clock-step.ts';
import { createLogger } from '../../../src/log.ts';
import { type Database, StoreUnavailableError } from '../../../src/store/database/database.ts';
import { acceptMany, claim, databaseNowMs, forgetDeliveries, letPass, newReceiver } from '../../support/deliveries.ts';
import { alteredStore, onSuiteEngine } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

const TEN_MINUTES_MS = 600_000;
const log = createLogger('silent');
const schedule = [0];

onSuiteEngine('the detector of clock steps', (store) => {
  /** One that waits for ten minutes, as after a step; and a detector whose monotonic clock can be moved on. */
  async function scene(db = store.db) {
    await forgetDeliveries(store.db);
    const { entityId } = await newReceiver(store.db);
    const clock = { aheadMs: 0, woken: 0 };
    const detector = new ClockStepDetector({
      db,
      log,
      schedule,
      onWork: () => clock.woken++,
      monotonicMs: () => performance.now() + clock.aheadMs,
    });
    await detector.check();
    await acceptMany(store.db, entityId, 1);
    await letPass(store.db, entityId, -TEN_MINUTES_MS);
    return { entityId, clock, detector };
  }

  test('changes nothing while both clocks run alike', async () => {
    const { entityId, clock, detector } = await scene();
    await detector.check();
    clock.aheadMs += 1_000;
    await detector.check();
    expect(clock.woken).toBe(0);
    expect(await claim(store.db, entityId)).toHaveLength(0);
  });

  test('brings forward what waits and wakes the engine when the clock was set back', async () => {
    const { entityId, clock, detector } = await scene();
    // To the detector it is the same whether the one clock goes back or the other forward.
    clock.aheadMs += TEN_MINUTES_MS;
    await detector.check();
    expect(clock.woken).toBe(1);
    expect(await claim(store.db, entityId)).toHaveLength(1);
  });

  test('knows the times that others read from the clock between two checks', async () => {
    const { entityId, clock, detector } = await scene();
    detector.noteDatabaseTime((await databaseNowMs(store.db)) + TEN_MINUTES_MS);
    await detector.check();
    expect(clock.woken).toBe(1);
    expect(await claim(store.db, entityId)).toHaveLength(1);
  });

  test('does not take a slow store for a step', async () => {
    let slower = () => undefined as unknown;
    const slow = alteredStore(store.db, {
      get: async <Row>(...query: Parameters<Database['get']>) => {
        const row = await store.db.get<Row>(...query);
        slower();
        return row;
      },
    });
    const { clock, detector } = await scene(slow);
    slower = () => {
      clock.aheadMs += 5_000;
    };
    await detector.check();
    await detector.check();
    expect(clock.woken).toBe(0);
  });

  test('runs at its start, and again after the store was unavailable', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    await letPass(store.db, entityId, -TEN_MINUTES_MS);
    let away = true;
    const db = alteredStore(store.db, {
      get: <Row>(...query: Parameters<Database['get']>) =>
        away ? Promise.reject(new StoreUnavailableError('away')) : store.db.get<Row>(...query),
    });
    let woken = 0;
    const job = clockStepJob(new ClockStepDetector({ db, log, schedule, onWork: () => woken++ }), log);
    job.start();
    away = false;
    await until('the engine is woken', () => woken > 0);
    await job.stop();
    expect(await claim(store.db, entityId)).toHaveLength(1);
  });
});
