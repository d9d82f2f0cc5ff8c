import { afterEach, describe, expect, test } from 'bun:test';
import type { Database } from '../../../../src/store/database/database.ts';
import { migrate } from '../../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../../src/store/database/open.ts';
import { readDelivery } from '../../../../src/store/deliveries/read.ts';
import { continueRedelivery, readRedelivery } from '../../../../src/store/deliveries/redeliver/bulk.ts';
import { claim, readDeliveries } from '../../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../../support/delivery-counters.ts';
import {
  insertOldRows,
  migrateToOld,
  type OldDelivery,
  oldDeliveryRow,
  oldEntity,
  oldWebhookRow,
} from '../../../support/old-store.ts';
import { createTarget, ENGINES } from '../../../support/stores.ts';

const ENTITY = `ent_${'1'.repeat(32)}`;
const WEBHOOK = 'wh_1';
const URL_1 = 'https://one.example.com/';
const AT_MS = 1_763_168_400_000;

/** Ids of the same length and form, in the order of `order`. */
const hexOf = (order: number) => `019a83d0f0007000800000000000${order.toString(16).padStart(4, '0')}`;
const idOf = (order: number) => `dlv_${hexOf(order)}`;

function delivery(order: number, given: Partial<OldDelivery>): OldDelivery {
  return {
    entityId: ENTITY,
    id: idOf(order),
    eventId: `event ${order}`,
    webhookId: WEBHOOK,
    event: 'LatePayment',
    networkId: 5,
    postUrl: URL_1,
    status: 'delivered',
    attempts: 1,
    steps: 1,
    dueMs: null,
    nextAttemptMs: null,
    claimed: 0,
    token: 0,
    redeliver: 0,
    redeliveryId: null,
    createdAtMs: AT_MS + order,
    deliveredAtMs: null,
    lastStatusCode: 200,
    lastError: null,
    ...given,
  };
}

for (const engine of ENGINES) {
  describe(`the conversion on ${engine}`, () => {
    const opened: (() => unknown)[] = [];

    afterEach(async () => {
      for (const close of opened.splice(0).reverse()) await close();
    });

    async function oldStore(deliveries: readonly OldDelivery[], lost: readonly string[] = []): Promise<Database> {
      const { target, remove } = await createTarget(engine);
      opened.push(remove);
      const db = await openDatabase(target);
      opened.push(() => db.close());
      await migrateToOld(db);
      await insertOldRows(db, 'entities', [oldEntity(ENTITY)]);
      const webhook = { entityId: ENTITY, id: WEBHOOK, networkId: 5, event: 'LatePayment', postUrl: URL_1, seq: 1 };
      await insertOldRows(db, 'webhooks', [oldWebhookRow(webhook)]);
      await insertOldRows(
        db,
        'events',
        deliveries
          .filter(({ eventId }) => !lost.includes(eventId))
          .map((row) => ({
            ...{ entity_id: row.entityId, id: row.eventId, event: row.event, network_id: row.networkId },
            ...{ body: '{}', deliveries: 1, created_at_ms: row.createdAtMs },
          })),
      );
      await insertOldRows(db, 'deliveries', deliveries.map(oldDeliveryRow));
      return db;
    }

    test('copies more than fits a page, many of one millisecond, each exactly once', async () => {
      const rows = Array.from({ length: 2_300 }, (_, index) =>
        delivery(index + 1, { createdAtMs: AT_MS + Math.floor(index / 700), webhookId: `wh_${index % 3}` }),
      );
      const db = await oldStore(rows);
      await migrate(db);
      const converted = await readDeliveries(db, ENTITY);
      expect(converted.map(({ deliveryId, eventId, webhookId }) => ({ deliveryId, eventId, webhookId }))).toEqual(
        rows.map(({ id, eventId, webhookId }) => ({ deliveryId: id, eventId, webhookId })),
      );
      expect(await wrongDeliveryCounters(db)).toEqual([]);
    });

    test('gives deliveries from before they knew their event to the webhook that has their id', async () => {
      const db = await oldStore([
        delivery(1, { status: 'pending', attempts: 0, nextAttemptMs: AT_MS }),
        delivery(2, {}),
      ]);
      await db.transaction((queries) => queries.run(`update deliveries set event = '', network_id = 0, post_url = ''`));
      await insertOldRows(db, 'deliveries', [oldDeliveryRow(delivery(3, {}))]);
      await migrate(db);
      for (const order of [1, 2, 3]) {
        expect(await readDelivery(db, ENTITY, idOf(order))).toMatchObject({ event: 'LatePayment', networkId: 5 });
      }
      expect((await claim(db, ENTITY, 9, URL_1)).map(({ deliveryId }) => deliveryId)).toEqual([idOf(1)]);
      expect(await wrongDeliveryCounters(db)).toEqual([]);
    });

    test('keeps deliveries whose event is gone, under the id of the event if that was one of Paybell', async () => {
      const made = `evt_${hexOf(500)}`;
      const db = await oldStore(
        [delivery(1, { eventId: made }), delivery(2, { eventId: 'chosen' }), delivery(3, { eventId: 'chosen' })],
        [made, 'chosen'],
      );
      await migrate(db);
      const eventIds = (await readDeliveries(db, ENTITY)).map(({ eventId }) => eventId);
      expect(eventIds).toEqual([made, expect.stringMatching(/^evt_[0-9a-f]{32}$/), eventIds[1] ?? '']);
    });

    test('claims nothing of an event that is gone as if it had a body', async () => {
      const db = await oldStore([delivery(1, { status: 'pending', attempts: 0, nextAttemptMs: AT_MS })], ['event 1']);
      await migrate(db);
      expect(await claim(db, ENTITY, 9, URL_1)).toMatchObject([{ deliveryId: idOf(1), body: null }]);
    });

    test('lets a bulk redelivery go on where it was', async () => {
      const redeliveryId = `rdl_${'2'.repeat(32)}`;
      const rows = Array.from({ length: 6 }, (_, index) => delivery(index + 1, {}));
      for (const row of rows.slice(0, 3)) Object.assign(row, { redeliver: 1, dueMs: AT_MS, redeliveryId });
      const db = await oldStore(rows);
      await insertRedelivery(db, redeliveryId, rows[2]);
      await migrate(db);
      expect(await continueRedelivery(db, ENTITY, redeliveryId)).toBe(false);
      expect(await readRedelivery(db, ENTITY, redeliveryId)).toMatchObject({
        status: 'finished',
        queued: 6,
        skipped: 0,
      });
      expect((await readDeliveries(db, ENTITY)).map((row) => row.redeliver)).toEqual([1, 1, 1, 1, 1, 1]);
    });

    test('leaves nothing out of a bulk redelivery whose next deliveries have earlier ids', async () => {
      const redeliveryId = `rdl_${'2'.repeat(32)}`;
      // By date 1, 4, 2, 3: the clocks of two instances differed.
      const rows = [1, 4, 2, 3].map((order, index) => delivery(order, { createdAtMs: AT_MS + index }));
      for (const row of rows.slice(0, 2)) Object.assign(row, { redeliver: 1, dueMs: AT_MS, redeliveryId });
      const db = await oldStore(rows);
      await insertRedelivery(db, redeliveryId, rows[1]);
      await migrate(db);
      while (await continueRedelivery(db, ENTITY, redeliveryId));
      expect((await readDeliveries(db, ENTITY)).map((row) => row.redeliver)).toEqual([1, 1, 1, 2]);
    });

    async function insertRedelivery(db: Database, id: string, cursor: OldDelivery | undefined): Promise<void> {
      await insertOldRows(db, 'redeliveries', [
        {
          ...{
            entity_id: ENTITY,
            id,
            filter: '{"status":"delivered"}',
            status: 'running',
            total: 6,
            seen: 3,
            queued: 3,
          },
          ...{ cursor_created_at_ms: cursor?.createdAtMs ?? 0, cursor_id: cursor?.id ?? '' },
          ...{ until_ms: AT_MS + 1_000, actor: 'test', created_at: 1 },
        },
      ]);
    }
  });
}
