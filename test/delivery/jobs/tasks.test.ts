import { afterEach, expect, test } from 'bun:test';
import { tasksJob } from '../../../src/delivery/jobs/tasks.ts';
import { createLogger } from '../../../src/log.ts';
import { type Database, StoreUnavailableError } from '../../../src/store/database/database.ts';
import { readRedelivery, startRedelivery } from '../../../src/store/deliveries/redeliver/bulk.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import {
  acceptMany,
  completeAll,
  forgetDeliveries,
  newReceiver,
  readAttempts,
  readDeliveries,
  respondedWith,
  ScriptedSender,
  withEngine,
} from '../../support/deliveries.ts';
import { rejection } from '../../support/rejection.ts';
import { alteredStore, alteredTransactions, onSuiteEngine } from '../../support/stores.ts';
import { continueRedelivery } from '../../support/tasks.ts';
import { until } from '../../support/until.ts';

onSuiteEngine('the job of tasks, with bulk redeliveries', (store) => {
  afterEach(() => forgetDeliveries(store.db));

  const runner = (db: Database = store.db, onWork: () => void = () => undefined) =>
    tasksJob(db, createLogger('silent'), onWork);

  /** As many deliveries that failed for good, and a redelivery of all of them that was asked for. */
  async function askForMany(count: number) {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, count);
    await failAll(entityId);
    const redeliveryId = await startRedelivery(store.db, entityId, { status: 'failed' }, TEST_CHANGE);
    const progress = async () => {
      const found = await readRedelivery(store.db, entityId, redeliveryId);
      if (found === null) throw new Error('the redelivery is gone');
      return found;
    };
    return { entityId, webhookId, redeliveryId, progress };
  }

  const failAll = (entityId: string) => completeAll(store.db, entityId, 'failed');

  test('queues what it is woken for, and wakes the engine after every batch', async () => {
    const { progress } = await askForMany(1_100);
    let wakes = 0;
    const running = runner(store.db, () => wakes++);
    running.wake();
    await until('it is finished', async () => (await progress()).status === 'finished');
    await running.stop();
    expect(await progress()).toMatchObject({ totalResults: 1_100, queued: 1_100, skipped: 0 });
    expect(wakes).toBe(3);
  });

  test('leaves an entity with 100 running redeliveries no other one, and other entities theirs', async () => {
    const [{ entityId: loud }, { entityId: quiet }] = [await newReceiver(store.db), await newReceiver(store.db)];
    const start = (entityId: string) => startRedelivery(store.db, entityId, { status: 'failed' }, TEST_CHANGE);
    for (let count = 0; count < 100; count++) await start(loud);
    expect((await rejection(start(loud))).message).toContain('100 bulk redeliveries of this entity are running');
    await start(quiet);
    const running = runner();
    running.wake();
    await until('one can be started again', async () => {
      try {
        return (await start(loud)) !== '';
      } catch {
        return false;
      }
    });
    await running.stop();
  });

  test('queues all redeliveries of one entity when woken once', async () => {
    const { entityId, redeliveryId, progress } = await askForMany(3);
    const all = [redeliveryId, await startRedelivery(store.db, entityId, { networkId: 1 }, TEST_CHANGE)];
    all.push(await startRedelivery(store.db, entityId, { status: 'failed' }, TEST_CHANGE));
    const running = runner();
    running.wake();
    for (const id of all) {
      await until('it is finished', async () => (await readRedelivery(store.db, entityId, id))?.status === 'finished');
    }
    await running.stop();
    expect(await progress()).toMatchObject({ queued: 3 });
  });

  test('goes on at its start with what another instance left in the middle, and queues nothing twice', async () => {
    const { entityId, redeliveryId, progress } = await askForMany(1_100);
    expect(await continueRedelivery(store.db, entityId, redeliveryId)).toBe(true);
    expect(await progress()).toMatchObject({ status: 'running', queued: 500 });
    const second = runner();
    second.start();
    await until('it is finished', async () => (await progress()).status === 'finished');
    await second.stop();
    expect(await progress()).toMatchObject({ queued: 1_100 });
    const owed = (await readDeliveries(store.db, entityId)).map(({ redeliver }) => redeliver);
    expect(owed).toEqual(Array(1_100).fill(1));
  });

  test('finishes several of several entities', async () => {
    const asked = await Promise.all([askForMany(700), askForMany(3), askForMany(0)]);
    const running = runner();
    running.wake();
    await until('all are finished', async () =>
      (await Promise.all(asked.map(({ progress }) => progress()))).every(({ status }) => status === 'finished'),
    );
    await running.stop();
    const queued = await Promise.all(asked.map(async ({ progress }) => (await progress()).queued));
    expect(queued).toEqual([700, 3, 0]);
  });

  test('runs again by itself after a batch that failed', async () => {
    const { progress } = await askForMany(2);
    let failures = 0;
    const shaky = alteredStore(store.db, {
      transaction: (work, options) => {
        if (failures++ === 0) return Promise.reject(new StoreUnavailableError('deadlock detected'));
        return store.db.transaction(work, options);
      },
    });
    const running = runner(shaky);
    running.wake();
    await until('it is finished', async () => (await progress()).status === 'finished');
    await running.stop();
    expect(await progress()).toMatchObject({ queued: 2 });
  });

  test('lets a redelivery that keeps failing wait alone: those of its entity and of others go on', async () => {
    const stuck = await askForMany(2);
    const neighbour = await askForMany(20);
    let tries = 0;
    const shaky = alteredTransactions(store.db, (queries) => ({
      get: (sql, params) => {
        if (!params?.includes(stuck.redeliveryId)) return queries.get(sql, params);
        tries++;
        return Promise.reject(new StoreUnavailableError('canceling statement due to statement timeout'));
      },
    }));
    const running = runner(shaky);
    running.wake();
    await until('the first one has failed', () => tries >= 1);
    const nextOfEntity = await startRedelivery(store.db, stuck.entityId, { networkId: 1 }, TEST_CHANGE);
    running.wake();
    await until('the neighbour is done', async () => (await neighbour.progress()).status === 'finished');
    await until('the next one is done', async () => {
      return (await readRedelivery(store.db, stuck.entityId, nextOfEntity))?.status === 'finished';
    });
    await until('the failing one is tried again', () => tries >= 2);
    await running.stop();
    expect(await neighbour.progress()).toMatchObject({ queued: 20 });
    expect((await stuck.progress()).status).toBe('running');
  });

  test('begins nothing more once it is stopped', async () => {
    const { progress } = await askForMany(1_100);
    const running = runner();
    running.wake();
    await running.stop();
    running.wake();
    await Bun.sleep(20);
    expect((await progress()).status).toBe('running');
  });

  test('sends all with an engine, never more at a time to a destination than its cap, and shows how far it is', async () => {
    const { entityId, progress } = await askForMany(60);
    const sender = new ScriptedSender(async () => {
      await Bun.sleep(2);
      return respondedWith(200);
    });
    const seen: number[] = [];
    await withEngine(
      store.db,
      sender,
      async (engine) => {
        const running = runner(store.db, () => engine.wake());
        running.wake();
        await until('all are delivered', async () => {
          const { sent, delivered } = await progress();
          seen.push(sent);
          return delivered === 60;
        });
        await running.stop();
      },
      { settings: { DESTINATION_CONCURRENCY: '4' } },
    );
    expect(sender.mostInFlight).toBeLessThanOrEqual(4);
    expect(seen.toSorted((a, b) => a - b)).toEqual(seen);
    expect(await progress()).toMatchObject({
      status: 'finished',
      totalResults: 60,
      queued: 60,
      sent: 60,
      delivered: 60,
    });
    const kinds = (await readAttempts(store.db, entityId)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'redelivery')).toHaveLength(60);
    expect(kinds).toHaveLength(120);
  });

  test('and an engine at work on the same deliveries do not keep each other from finishing', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1_500);
    const sender = new ScriptedSender();
    await withEngine(store.db, sender, async (engine) => {
      const running = runner(store.db, () => engine.wake());
      const redeliveryId = await startRedelivery(store.db, entityId, { webhookId }, TEST_CHANGE);
      running.wake();
      await until('all are sent again', async () => {
        const progress = await readRedelivery(store.db, entityId, redeliveryId);
        return progress?.status === 'finished' && progress.sent === 1_500;
      });
      await running.stop();
    });
    const attempts = await readAttempts(store.db, entityId);
    expect(attempts.filter(({ kind }) => kind === 'redelivery')).toHaveLength(1_500);
    expect(sender.requests).toHaveLength(attempts.length);
  });
});
