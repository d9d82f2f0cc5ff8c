import { expect, test } from 'bun:test';
import { ClockStepJob } from '../../../src/delivery/jobs/clock-step.ts';
import { createLogger } from '../../../src/log.ts';
import { StoreUnavailableError } from '../../../src/store/database/database.ts';
import {
  acceptMany,
  claim,
  databaseNowMs,
  forgetDeliveries,
  LEASE_MS,
  letPass,
  newReceiver,
} from '../../support/deliveries.ts';
import { alteredStore, onEveryEngine } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

const TEN_MINUTES_MS = 600_000;
const log = createLogger('silent');
const patience = { schedule: [0], leaseMs: LEASE_MS };

onEveryEngine('the watch over the clock', (store) => {
  /** One that waits for ten minutes, as after a step; and a watch whose monotonic clock can be hurried. */
  async function scene(db = store.db) {
    await forgetDeliveries(store.db);
    const { entityId } = await newReceiver(store.db);
    const clock = { aheadMs: 0, woken: 0 };
    const watch = new ClockStepJob({
      db,
      log,
      patience,
      onWork: () => clock.woken++,
      monotonicMs: () => performance.now() + clock.aheadMs,
    });
    await watch.look();
    await acceptMany(store.db, entityId, 1);
    await letPass(store.db, entityId, -TEN_MINUTES_MS);
    return { entityId, clock, watch };
  }

  test('lets what waits be, while the clock goes as clocks go', async () => {
    const { entityId, clock, watch } = await scene();
    await watch.look();
    clock.aheadMs += 1_000;
    await watch.look();
    expect(clock.woken).toBe(0);
    expect(await claim(store.db, entityId)).toHaveLength(0);
  });

  test('brings forward what waits and wakes the engine when the clock was set back', async () => {
    const { entityId, clock, watch } = await scene();
    // To the watch it is the same whether the one clock goes back or the other forward.
    clock.aheadMs += TEN_MINUTES_MS;
    await watch.look();
    expect(clock.woken).toBe(1);
    expect(await claim(store.db, entityId)).toHaveLength(1);
  });

  test('knows also what the clock showed to others between two looks', async () => {
    const { entityId, clock, watch } = await scene();
    watch.saw((await databaseNowMs(store.db)) + TEN_MINUTES_MS);
    await watch.look();
    expect(clock.woken).toBe(1);
    expect(await claim(store.db, entityId)).toHaveLength(1);
  });

  test('takes a slow store for no step', async () => {
    let slower = () => undefined as unknown;
    const slow = alteredStore(store.db, {
      get: async (...query) => {
        const answer = await store.db.get(...query);
        slower();
        return answer as never;
      },
    });
    const { clock, watch } = await scene(slow);
    slower = () => {
      clock.aheadMs += 5_000;
    };
    await watch.look();
    await watch.look();
    expect(clock.woken).toBe(0);
  });

  test('looks by itself from its start on, and again when the store was away', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    await letPass(store.db, entityId, -TEN_MINUTES_MS);
    let away = true;
    const db = alteredStore(store.db, {
      get: (...query) => {
        if (away) return Promise.reject(new StoreUnavailableError('away'));
        return store.db.get(...query) as never;
      },
    });
    let woken = 0;
    const watch = new ClockStepJob({ db, log, patience, onWork: () => woken++ });
    watch.start();
    away = false;
    await until('the engine is woken', () => woken > 0);
    await watch.stop();
    expect(await claim(store.db, entityId)).toHaveLength(1);
  });
});
