import { expect, test } from 'bun:test';
import { type Database, StoreUnavailableError } from '../../../../src/store/database/database.ts';
import type { Claimed } from '../../../../src/store/deliveries/claim/claimed.ts';
import { HeadChangedError } from '../../../../src/store/deliveries/head-locks.ts';
import { AcceptQueue } from '../../../../src/store/events/accept-queue.ts';
import { moveWebhook } from '../../../../src/store/webhooks/change.ts';
import { importBatch } from '../../../../src/store/webhooks/import.ts';
import { TEST_CHANGE } from '../../../support/api.ts';
import { accept, claim, HOOK, LATE_ON_1, newEvent } from '../../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../../support/delivery-counters.ts';
import { configure } from '../../../support/endpoints.ts';
import { beforeStatement } from '../../../support/interrupted-store.ts';
import { onlyOn } from '../../../support/only-on.ts';
import { attemptThat, countRows, keepOrder, record } from '../../../support/order.ts';
import { rejection } from '../../../support/rejection.ts';
import { alteredStore, onSuiteEngine } from '../../../support/stores.ts';
import { newEntity, register } from '../../../support/webhooks.ts';

const OTHER = 'https://other.example.com/paybell';

onSuiteEngine('a change of the ordering of an endpoint', (store) => {
  async function newTenant(): Promise<{ entityId: string; webhookId: string }> {
    const entityId = await newEntity(store.db);
    const { webhooks } = await register(store.db, entityId, HOOK, [LATE_ON_1]);
    return { entityId, webhookId: webhooks[0]?.webhookId ?? '' };
  }

  /** Events of one agreement; the name of a payment begins with `p`. */
  async function send(entityId: string, ...names: readonly string[]): Promise<void> {
    for (const name of names) {
      const factKey = name.startsWith('p') ? name : null;
      await accept(store.db, newEvent(entityId, { eventId: `${entityId}-${name}`, agreementId: 'a', factKey }));
    }
  }

  const order = (entityId: string, ordering: 'agreement' | 'none') => configure(store.db, entityId, HOOK, { ordering });

  const namesOf = (entityId: string, claimed: readonly Claimed[]) =>
    claimed.map(({ eventId }) => eventId.slice(entityId.length + 1)).toSorted();

  /** Returns the names that were claimed at once, again and again until nothing is left. */
  async function deliver(entityId: string): Promise<string[][]> {
    const looks: string[][] = [];
    for (;;) {
      const claimed = await claim(store.db, entityId);
      if (claimed.length === 0) break;
      looks.push(namesOf(entityId, claimed));
      await record(store.db, ...claimed.map((one) => attemptThat('delivered', one)));
    }
    expect(await countRows(store.db, 'order_keys', entityId)).toBe(0);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
    return looks;
  }

  test('to agreement puts waiting payments before later events of their agreement', async () => {
    const { entityId } = await newTenant();
    await send(entityId, 'p1', 'p2');
    await order(entityId, 'agreement');
    await send(entityId, 'e3');
    expect(await deliver(entityId)).toEqual([['p1'], ['p2'], ['e3']]);
  });

  test('to agreement leaves waiting events without a key as they are', async () => {
    const { entityId } = await newTenant();
    await send(entityId, 'e1', 'e2');
    await order(entityId, 'agreement');
    await send(entityId, 'e3', 'e4');
    expect(await deliver(entityId)).toEqual([['e1', 'e2', 'e3'], ['e4']]);
  });

  test('to none sends waiting payments at once, and keeps events behind those that they waited for', async () => {
    const { entityId } = await newTenant();
    await order(entityId, 'agreement');
    await send(entityId, 'e1', 'e2', 'p3', 'p4');
    await order(entityId, 'none');
    await send(entityId, 'e5');
    expect(await deliver(entityId)).toEqual([['e1', 'e5', 'p3', 'p4'], ['e2']]);
  });

  test('to agreement puts a payment in flight before earlier payments that wait for a retry', async () => {
    const { entityId } = await newTenant();
    await send(entityId, 'p1', 'p2');
    const [first, second] = await claim(store.db, entityId);
    if (first !== undefined) await record(store.db, attemptThat('retried', first, 0));
    await order(entityId, 'agreement');
    await send(entityId, 'e3');
    expect(await claim(store.db, entityId)).toEqual([]);
    if (second !== undefined) await record(store.db, attemptThat('delivered', second));
    expect(await deliver(entityId)).toEqual([['p1'], ['e3']]);
  });

  /** The statement that copies the settings of an endpoint to its heads. */
  const isCopy = (sql: string) => sql.startsWith('insert into queue_heads') && sql.includes('ordering = excluded');

  for (const [what, change] of [
    ['a change', (db: Database, entityId: string) => configure(db, entityId, HOOK, { ordering: 'agreement' })],
    [
      'an import',
      async (db: Database, entityId: string) => {
        const endpoints = [{ line: 1, postUrl: HOOK, ordering: 'agreement' as const }];
        const options = { entityWebhookLimit: 10, change: TEST_CHANGE };
        const { configured } = await importBatch(db, entityId, { webhooks: [], endpoints }, options);
        expect(configured).toBe(1);
      },
    ],
  ] as const) {
    onlyOn('postgres', store)(`by ${what} includes a payment that is accepted at the same time`, async () => {
      const { entityId } = await newTenant();
      await change(
        beforeStatement(store.db, isCopy, () => send(entityId, 'p1')),
        entityId,
      );
      await send(entityId, 'e2');
      expect(await deliver(entityId)).toEqual([['p1'], ['e2']]);
    });
  }

  onlyOn('postgres', store)('and a move keep the order of an event that is accepted at the same time', async () => {
    const { entityId, webhookId } = await newTenant();
    await register(store.db, entityId, OTHER, [{ ...LATE_ON_1, networkId: 2 }]);
    for (const url of [HOOK, OTHER]) await keepOrder(store.db, entityId, url);
    await send(entityId, 'e1');
    const move = async () => {
      await moveWebhook(store.db, entityId, webhookId, OTHER, () => true, TEST_CHANGE);
    };
    const db = beforeStatement(store.db, (sql) => sql.startsWith('insert into order_keys'), move);
    const queue = new AcceptQueue(db, { onDue: () => undefined });
    await queue.accept(newEvent(entityId, { eventId: `${entityId}-e2`, agreementId: 'a' }));
    await send(entityId, 'e3');
    const looks: string[][] = [];
    for (let claimed = await claim(store.db, entityId, 10, OTHER); claimed.length > 0; ) {
      looks.push(namesOf(entityId, claimed));
      await record(store.db, ...claimed.map((one) => attemptThat('delivered', one)));
      claimed = await claim(store.db, entityId, 10, OTHER);
    }
    expect(looks).toEqual([['e1'], ['e2'], ['e3']]);
  });

  test('during every attempt of an acceptance asks its sender to try again', async () => {
    const { entityId } = await newTenant();
    let attempts = 0;
    const db = alteredStore(store.db, {
      transaction: (work, options) =>
        store.db.transaction(async (queries) => {
          await work(queries);
          attempts++;
          throw new HeadChangedError();
        }, options),
    });
    const queue = new AcceptQueue(db, { onDue: () => undefined });
    expect(await rejection(queue.accept(newEvent(entityId)))).toBeInstanceOf(StoreUnavailableError);
    expect(attempts).toBe(5);
    expect(await claim(store.db, entityId)).toEqual([]);
  });
});
