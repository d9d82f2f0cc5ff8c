import { afterEach, describe, expect, test } from 'bun:test';
import type { Database } from '../../../../src/store/database/database.ts';
import { migrate } from '../../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../../src/store/database/open.ts';
import { PAUSE, PacedBatches } from '../../../../src/store/database/paced-batches.ts';
import { claimDeliveries } from '../../../../src/store/deliveries/claim/claim.ts';
import type { Claimed } from '../../../../src/store/deliveries/claim/claimed.ts';
import { FIRST_HEAD, findDueHeads } from '../../../../src/store/deliveries/claim/due-heads.ts';
import { listDeliveries, readDelivery } from '../../../../src/store/deliveries/read.ts';
import { recordAttempts } from '../../../../src/store/deliveries/record/record-attempts.ts';
import { redeliver } from '../../../../src/store/deliveries/redeliver/redeliver.ts';
import { prune } from '../../../../src/store/deliveries/retention/retention.ts';
import { findDeletedHeads, sweepDeleted } from '../../../../src/store/deliveries/sweep.ts';
import { resumeWebhook } from '../../../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../../../support/api.ts';
import { databaseNowMs, LEASE_MS, letPass, respondedWith } from '../../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../../support/delivery-counters.ts';
import { UNRETRACTED } from '../../../support/delivery-rows.ts';
import { migrateToOld, readOldDeliveries } from '../../../support/old-store.ts';
import {
  ALERT_URL,
  type ExpectedDelivery,
  expectedNow,
  ODD,
  seedOldStore,
  USUAL,
  WEBHOOKS,
} from '../../../support/old-store-fixture.ts';
import { createTarget, ENGINES } from '../../../support/stores.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

for (const engine of ENGINES) {
  describe(`the deliveries of a converted store on ${engine}`, () => {
    const opened: (() => unknown)[] = [];

    afterEach(async () => {
      for (const close of opened.splice(0).reverse()) await close();
    });

    async function convertedStore(): Promise<{ db: Database; expected: ExpectedDelivery[]; nowMs: number }> {
      const { target, remove } = await createTarget(engine);
      opened.push(remove);
      const db = await openDatabase(target);
      opened.push(() => db.close());
      await migrateToOld(db);
      const nowMs = await databaseNowMs(db);
      await seedOldStore(db, nowMs);
      const expected = (await readOldDeliveries(db)).map(expectedNow);
      await migrate(db);
      return { db, expected, nowMs };
    }

    async function claimAll(db: Database): Promise<Claimed[]> {
      const { due } = await findDueHeads(db, FIRST_HEAD, 1_000);
      const destinations = [...new Set(due.map(({ destination }) => destination))];
      const picks = destinations.map((destination) => ({ destination, most: 1_000 }));
      return (await claimDeliveries(db, picks, LEASE_MS)).claimed;
    }

    /** All of them reach their receivers. */
    async function deliver(db: Database, claimed: readonly Claimed[]): Promise<void> {
      const next = { status: 'delivered', steps: 1, delayMs: null, suspend: null } as const;
      const made = claimed.map((delivery) => ({ delivery, startedAtMs: 5, outcome: respondedWith(200), next }));
      const recorded = await db.transaction((queries) => recordAttempts(queries, db.dialect, made));
      expect([...recorded].sort()).toEqual(claimed.map(({ deliveryId }) => deliveryId).sort());
    }

    async function sweepAll(db: Database): Promise<void> {
      const { heads, isLast } = await findDeletedHeads(db, null);
      expect(isLast).toBe(true);
      for (const head of heads) while (await sweepDeleted(db, head));
    }

    const idsOf = (rows: readonly { deliveryId: string }[]) => rows.map(({ deliveryId }) => deliveryId).sort();

    /** Sends whatever can be claimed again and again: a redelivery that was asked for twice comes twice. */
    async function deliverAll(db: Database): Promise<Claimed[]> {
      const sent: Claimed[] = [];
      for (let claimed = await claimAll(db); claimed.length > 0; claimed = await claimAll(db)) {
        await deliver(db, claimed);
        sent.push(...claimed);
      }
      return sent;
    }

    test('are claimed when their time has come, and not before', async () => {
      const { db, expected, nowMs } = await convertedStore();
      const waiting = expected.filter(({ isQueued, webhook }) => isQueued && webhook === 'active');
      const claimed = new Set<string>();
      for (const passedMs of [0, MINUTE_MS, 3 * DAY_MS]) {
        for (const entityId of [USUAL, ODD]) await letPass(db, entityId, passedMs);
        const due = waiting.filter(({ claimableAtMs, id }) => claimableAtMs <= nowMs + passedMs && !claimed.has(id));
        const found = await claimAll(db);
        expect(idsOf(found)).toEqual(idsOf(due.map(({ view }) => view)));
        for (const { deliveryId, eventId, kind, attempts, body } of found) {
          const row = due.find(({ id }) => id === deliveryId);
          expect({ eventId, kind, attempts, body }).toEqual({
            eventId: row?.eventId ?? '',
            kind: row?.nextKind ?? 'first',
            attempts: row?.attempts ?? 0,
            body: row?.body ?? '',
          });
          claimed.add(deliveryId);
        }
        expect(due.length).toBeGreaterThan(0);
        await deliver(db, found);
        // What was asked for more than once is claimed again, and is not looked at here.
        for (const delivery of await deliverAll(db)) expect(claimed).toContain(delivery.deliveryId);
      }
      expect(claimed.size).toBe(waiting.length);
      expect(await wrongDeliveryCounters(db)).toEqual([]);
    });

    test('go to their webhooks and alert URLs as these are now', async () => {
      const { db, expected } = await convertedStore();
      for (const entityId of [USUAL, ODD]) await letPass(db, entityId, 3 * DAY_MS);
      const byId = new Map(expected.map((row) => [row.id, row]));
      const sent = await deliverAll(db);
      const urls = new Map<string, Set<string>>();
      for (const { deliveryId, webhookId, postUrl } of sent) {
        const name = `${webhookId} ${byId.get(deliveryId)?.event}`;
        urls.set(name, (urls.get(name) ?? new Set()).add(postUrl));
      }
      expect(Object.fromEntries([...urls].map(([name, found]) => [name, [...found]]))).toEqual({
        [`${WEBHOOKS.active} LatePayment`]: ['https://active.example.com/hook'],
        [`${WEBHOOKS.moved} LatePayment`]: ['https://moved.example.com/elsewhere'],
        [`${WEBHOOKS.imported} LatePayment`]: ['https://imported.example.com/hook'],
        [`${WEBHOOKS.again} TransferCreated`]: ['https://again.example.com/other'],
        'notice LatePayment': ['https://notice.example.com/hook'],
        'notice webhook.suspended': [ALERT_URL],
      });
      for (const { entityId, deliveryId, postUrl } of sent) {
        expect(await readDelivery(db, entityId, deliveryId)).toMatchObject({ status: 'delivered', postUrl });
      }
    });

    test('that are held go out after a resume, from the first step of their schedule', async () => {
      const { db, expected } = await convertedStore();
      for (const entityId of [USUAL, ODD]) {
        await letPass(db, entityId, 3 * DAY_MS);
        await deliverAll(db);
        await resumeWebhook(db, entityId, WEBHOOKS.suspended, TEST_CHANGE);
        const held = expected.filter((row) => row.entityId === entityId && row.isQueued && row.webhook === 'suspended');
        const found = await claimAll(db);
        expect(idsOf(found)).toEqual(idsOf(held.map(({ view }) => view)));
        expect(found.every(({ steps }) => steps === 0)).toBe(true);
        await deliver(db, found);
        await deliverAll(db);
        const list = await listDeliveries(db, entityId, {
          ...{ webhookId: WEBHOOKS.suspended, status: 'held' },
          ...{ page: 1, limit: 10, sortBy: 'dateCreated', sortDir: 'asc' },
        });
        expect(list.totalResults).toBe(0);
      }
      expect(await wrongDeliveryCounters(db)).toEqual([]);
    });

    test('that waited for a deleted webhook are swept into the record as cancelled', async () => {
      const { db, expected } = await convertedStore();
      const gone = expected.filter(({ webhook }) => webhook === 'gone');
      await sweepAll(db);
      expect(await wrongDeliveryCounters(db)).toEqual([]);
      for (const { entityId, id, view, body, attemptLog } of gone) {
        expect(await readDelivery(db, entityId, id)).toEqual({ ...view, body, attemptLog, ...UNRETRACTED });
      }
      const left = await db.all(
        `select q.id from queue q join queue_heads h on h.entity_id = q.entity_id and h.webhook_no = q.webhook_no
         where h.blocked >= 4`,
      );
      expect(left).toEqual([]);
    });

    test('can fail, be retried and be sent again, and their logs go on', async () => {
      const { db, expected } = await convertedStore();
      for (const entityId of [USUAL, ODD]) await letPass(db, entityId, 3 * DAY_MS);
      const claimed = (await claimAll(db)).filter(({ kind }) => kind !== 'redelivery');
      const next = { status: 'retrying', steps: 1, delayMs: 1_000, suspend: null } as const;
      const made = claimed.map((delivery) => ({ delivery, startedAtMs: 5, outcome: respondedWith(500), next }));
      await db.transaction((queries) => recordAttempts(queries, db.dialect, made));
      const byId = new Map(expected.map((row) => [row.id, row]));
      for (const { entityId, deliveryId, attempts } of claimed) {
        const now = await readDelivery(db, entityId, deliveryId);
        expect(now).toMatchObject({ status: 'retrying', attempts: attempts + 1, lastStatusCode: 500 });
        expect(now?.attemptLog.slice(0, -1)).toEqual(byId.get(deliveryId)?.attemptLog ?? []);
      }
      expect(await wrongDeliveryCounters(db)).toEqual([]);

      const completed = expected.filter(
        ({ isQueued, webhook, entityId }) => !isQueued && webhook === 'active' && entityId === USUAL,
      );
      for (const { entityId, id } of completed) expect(await redeliver(db, entityId, id)).toBe(true);
      for (const entityId of [USUAL, ODD]) await letPass(db, entityId, LEASE_MS);
      await deliverAll(db);
      for (const { entityId, id, attempts, attemptLog } of completed) {
        const now = await readDelivery(db, entityId, id);
        expect(now).toMatchObject({ status: 'delivered', attempts: attempts + 1 });
        expect(now?.attemptLog.slice(0, -1)).toEqual(attemptLog);
        expect(now?.attemptLog.at(-1)).toMatchObject({ kind: 'redelivery', attempt: attempts + 1 });
      }
      expect(await wrongDeliveryCounters(db)).toEqual([]);
    });

    test('are removed with their events, attempts and counters when they are old', async () => {
      const { db, nowMs } = await convertedStore();
      for (const entityId of [USUAL, ODD]) {
        await resumeWebhook(db, entityId, WEBHOOKS.suspended, TEST_CHANGE);
        await letPass(db, entityId, 3 * DAY_MS);
      }
      await deliverAll(db);
      await sweepAll(db);
      const batches = new PacedBatches(engine, PAUSE.foreground);
      await prune(db, { olderThanMs: DAY_MS, batches, nowMs: nowMs + 30 * DAY_MS });
      for (const table of [
        'queue',
        'deliveries',
        'attempts',
        'events',
        'event_ids',
        'delivery_counts',
        'event_counts',
      ]) {
        expect({ table, rows: await db.all(`select * from ${table}`) }).toEqual({ table, rows: [] });
      }
      expect(await wrongDeliveryCounters(db)).toEqual([]);
    });
  });
}
