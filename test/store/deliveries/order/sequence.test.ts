import { expect, test } from 'bun:test';
import { openDatabase } from '../../../../src/store/database/open.ts';
import { PacedBatches } from '../../../../src/store/database/paced-batches.ts';
import { readDelivery } from '../../../../src/store/deliveries/read.ts';
import { redeliver } from '../../../../src/store/deliveries/redeliver/redeliver.ts';
import { prune } from '../../../../src/store/deliveries/retention/retention.ts';
import { acceptEvents } from '../../../../src/store/events/accept.ts';
import {
  accept,
  acceptMany,
  addReceiver,
  claim,
  completeAll,
  databaseNowMs,
  newEvent,
  newReceiver,
} from '../../../support/deliveries.ts';
import { attemptThat, readNumbers, record } from '../../../support/order.ts';
import { TEST_DEADLINE_MS } from '../../../support/postgres.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { runTasks } from '../../../support/tasks.ts';
import { newEntity, seedWebhooks } from '../../../support/webhooks.ts';

onSuiteEngine('the sequence of an endpoint', (store) => {
  const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

  test('numbers the deliveries of each endpoint in the order of acceptance', async () => {
    const { entityId } = await newReceiver(store.db);
    await addReceiver(store.db, entityId, 'https://second.example.com/');
    const events = await acceptMany(store.db, entityId, 30);
    const claimed = await claim(store.db, entityId);
    const byNumber = claimed.toSorted((a, b) => (a.sequence ?? 0) - (b.sequence ?? 0));
    expect(byNumber.map(({ sequence }) => sequence)).toEqual(upTo(30));
    expect(byNumber.map(({ eventId }) => eventId)).toEqual(events.map(({ eventId }) => eventId ?? ''));
    const all = (await readNumbers(store.db, entityId)).map(({ sequence }) => sequence);
    expect(all).toEqual([...upTo(30), ...upTo(30)]);
  });

  test('has no hole and no number twice where several connections accept at once', async () => {
    const { entityId } = await newReceiver(store.db);
    const other =
      store.engine === 'postgres'
        ? await openDatabase({ engine: 'postgres', url: store.url, deadlineMs: TEST_DEADLINE_MS })
        : store.db;
    const writers = [store.db, other, store.db, other];
    await Promise.all(
      writers.map(async (db) => {
        for (let group = 0; group < 10; group++) {
          await accept(db, ...Array.from({ length: 1 + (group % 4) }, () => newEvent(entityId)));
        }
      }),
    );
    if (other !== store.db) await other.close();
    const numbers = await readNumbers(store.db, entityId);
    expect(numbers.map(({ sequence }) => sequence)).toEqual(upTo(92));
  });

  test('leaves no hole where an acceptance is rolled back', async () => {
    const { entityId } = await newReceiver(store.db);
    const failing = store.db.transaction(async (queries) => {
      await acceptEvents(queries, store.db.dialect, [newEvent(entityId)]);
      throw new Error('rolled back');
    });
    await failing.catch(() => undefined);
    await acceptMany(store.db, entityId, 2);
    expect((await readNumbers(store.db, entityId)).map(({ sequence }) => sequence)).toEqual([1, 2]);
  });

  test('numbers the rest of a fan-out too', async () => {
    const entityId = await newEntity(store.db);
    const seeds = Array.from({ length: 1_003 }, (_, index) => ({
      networkId: 1,
      event: 'LatePayment',
      postUrl: `https://hooks.example.com/${String(index).padStart(4, '0')}`,
    }));
    await seedWebhooks(store.db, entityId, seeds);
    await acceptMany(store.db, entityId, 2);
    await runTasks(store.db);
    const numbers = await readNumbers(store.db, entityId);
    expect(numbers).toHaveLength(2_006);
    expect(numbers.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 1_003 }, () => [1, 2]).flat());
  });

  test('keeps the number of a delivery through completion and redelivery, and shows it', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 3);
    await completeAll(store.db, entityId, 'delivered');
    const [, second] = await readNumbers(store.db, entityId);
    await redeliver(store.db, entityId, second?.deliveryId ?? '');
    const claimed = await claim(store.db, entityId);
    expect(claimed).toMatchObject([{ deliveryId: second?.deliveryId ?? '', sequence: 2, kind: 'redelivery' }]);
    await record(store.db, ...claimed.map((delivery) => attemptThat('delivered', delivery)));
    const shown = await readDelivery(store.db, entityId, second?.deliveryId ?? '');
    expect(shown).toMatchObject({ sequence: 2, endpointId: expect.stringMatching(/^ep_[0-9a-f]{14}$/) });
  });

  test('goes on where it was when retention has removed all deliveries', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 3);
    await completeAll(store.db, entityId, 'delivered');
    const nowMs = (await databaseNowMs(store.db)) + 60_000;
    await prune(store.db, { olderThanMs: 30_000, batches: new PacedBatches(store.engine, 0), nowMs });
    expect(await readNumbers(store.db, entityId)).toEqual([]);
    await acceptMany(store.db, entityId, 1);
    expect((await readNumbers(store.db, entityId)).map(({ sequence }) => sequence)).toEqual([4]);
  });
});
