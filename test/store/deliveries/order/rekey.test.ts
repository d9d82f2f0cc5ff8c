import { expect, test } from 'bun:test';
import { RETRACTION } from '../../../../src/domain/event-kinds.ts';
import type { Database } from '../../../../src/store/database/database.ts';
import { openDatabase } from '../../../../src/store/database/open.ts';
import type { Claimed } from '../../../../src/store/deliveries/claim/claimed.ts';
import { repeatIfHeadChanged } from '../../../../src/store/deliveries/head-locks.ts';
import { changeMatching, moveWebhook } from '../../../../src/store/webhooks/change.ts';
import { TEST_CHANGE } from '../../../support/api.ts';
import { accept, claim, HOOK, letPass, newEvent } from '../../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../../support/delivery-counters.ts';
import { attemptThat, countRows, keepOrder, record } from '../../../support/order.ts';
import { TEST_DEADLINE_MS } from '../../../support/postgres.ts';
import { rejection } from '../../../support/rejection.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { runTasks } from '../../../support/tasks.ts';
import { newEntity, register } from '../../../support/webhooks.ts';

const OTHER = 'https://other.example.com/paybell';
const [CREATED, PROCESSED] = ['TransferCreated', 'TransferProcessed'];
const RACES = 12;

onSuiteEngine('a move between ordered endpoints', (store) => {
  /** A webhook for each event kind at its own URL; both URLs are ordered. */
  async function newTenant(): Promise<{ entityId: string; webhookId: string }> {
    const entityId = await newEntity(store.db);
    const { webhooks } = await register(store.db, entityId, HOOK, [{ networkId: 1, event: CREATED }]);
    await register(store.db, entityId, OTHER, [{ networkId: 1, event: PROCESSED }]);
    // An endpoint loses its settings with its last webhook.
    await register(store.db, entityId, HOOK, [{ networkId: 2, event: CREATED }]);
    for (const url of [HOOK, OTHER]) await keepOrder(store.db, entityId, url);
    return { entityId, webhookId: webhooks[0]?.webhookId ?? '' };
  }

  const send = (db: Database, entityId: string, eventId: string, event: string, agreementId = 'a') =>
    repeatIfHeadChanged(() =>
      accept(db, newEvent(entityId, { eventId: `${entityId}-${eventId}`, event, agreementId })),
    );

  const move = (db: Database, entityId: string, webhookId: string, postUrl: string) =>
    moveWebhook(db, entityId, webhookId, postUrl, () => true, TEST_CHANGE);

  const claimBoth = async (entityId: string): Promise<Claimed[]> => [
    ...(await claim(store.db, entityId, 100, HOOK)),
    ...(await claim(store.db, entityId, 100, OTHER)),
  ];

  /** Delivers one after another, and returns the names of the events with the number of their URL. */
  async function deliverInOrder(entityId: string): Promise<string[]> {
    const order: string[] = [];
    for (;;) {
      const claimed = await claimBoth(entityId);
      if (claimed.length === 0) return order;
      for (const one of claimed) {
        order.push(
          `${one.eventId.slice(entityId.length + 1)} ${one.postUrl === HOOK ? 'at the old URL' : 'at the new URL'}`,
        );
        await record(store.db, attemptThat('delivered', one));
      }
    }
  }

  test('keeps the order of an agreement, with a retry that waits', async () => {
    const { entityId, webhookId } = await newTenant();
    for (const eventId of ['e1', 'e2']) await send(store.db, entityId, eventId, CREATED);
    const [first] = await claim(store.db, entityId);
    if (first !== undefined) await record(store.db, attemptThat('retried', first, 60_000));
    await move(store.db, entityId, webhookId, OTHER);
    await send(store.db, entityId, 'e3', CREATED);
    expect(await claimBoth(entityId)).toEqual([]);
    await letPass(store.db, entityId, 60_000);
    expect(await deliverInOrder(entityId)).toEqual(['e1 at the new URL', 'e2 at the new URL', 'e3 at the new URL']);
    expect(await countRows(store.db, 'order_keys', entityId)).toBe(0);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('to an endpoint without order keeps a retraction behind its event in flight', async () => {
    const entityId = await newEntity(store.db);
    const { webhooks } = await register(store.db, entityId, HOOK, [{ networkId: 1, event: CREATED }]);
    await keepOrder(store.db, entityId, HOOK);
    const agreementId = 'a';
    const original = { eventId: `${entityId}-e1`, event: CREATED, agreementId };
    await accept(store.db, newEvent(entityId, { ...original, body: JSON.stringify(original) }));
    const [inFlight] = await claim(store.db, entityId);
    if (inFlight === undefined) throw new Error('nothing is due');
    const retraction = { eventId: `${entityId}-e1-gone`, event: RETRACTION };
    await accept(store.db, newEvent(entityId, { ...retraction, retracts: original.eventId }));
    await runTasks(store.db);
    await move(store.db, entityId, webhooks[0]?.webhookId ?? '', OTHER);
    expect(await claimBoth(entityId)).toEqual([]);
    await record(store.db, attemptThat('delivered', inFlight));
    await runTasks(store.db);
    expect(await deliverInOrder(entityId)).toEqual(['e1-gone at the new URL']);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  for (const end of ['delivered', 'retried'] as const) {
    test(`waits for a request to the old URL that is in flight, and is ${end}`, async () => {
      const { entityId, webhookId } = await newTenant();
      for (const eventId of ['e1', 'e2']) await send(store.db, entityId, eventId, CREATED);
      const [first] = await claim(store.db, entityId);
      await move(store.db, entityId, webhookId, OTHER);
      await send(store.db, entityId, 'e3', CREATED);
      expect(await claimBoth(entityId)).toEqual([]);
      if (first !== undefined) await record(store.db, attemptThat(end, first, 1_000));
      await letPass(store.db, entityId, 1_000);
      const again = end === 'retried' ? ['e1 at the new URL'] : [];
      expect(await deliverInOrder(entityId)).toEqual([...again, 'e2 at the new URL', 'e3 at the new URL']);
      expect(await countRows(store.db, 'order_keys', entityId)).toBe(0);
    });
  }

  test('merges the deliveries with those of the new URL in the order of acceptance', async () => {
    const { entityId } = await newTenant();
    for (const [eventId, event] of [
      ['e1', CREATED],
      ['x2', PROCESSED],
      ['e3', CREATED],
      ['x4', PROCESSED],
    ] as const) {
      await send(store.db, entityId, eventId, event ?? '');
    }
    expect(await changeMatching(store.db, entityId, { postUrl: HOOK }, { postUrl: OTHER }, TEST_CHANGE)).toBe(2);
    const order = await deliverInOrder(entityId);
    expect(order.map((one) => one.slice(0, 2))).toEqual(['e1', 'x2', 'e3', 'x4']);
    expect(await countRows(store.db, 'order_keys', entityId)).toBe(0);
  });

  test('fails if more deliveries wait in order than one transaction can take along', async () => {
    const { entityId, webhookId } = await newTenant();
    const { rows } = store.db.dialect.limits;
    const events = Array.from({ length: rows + 1 }, () => newEvent(entityId, { event: CREATED, agreementId: 'a' }));
    await accept(store.db, ...events);
    const failed = await rejection(move(store.db, entityId, webhookId, OTHER));
    expect(failed).toMatchObject({ kind: 'ordered_deliveries_waiting', facts: { waiting: rows + 1, limit: rows } });
    expect(await claim(store.db, entityId, 100, HOOK)).toHaveLength(1);
    await move(store.db, entityId, webhookId, 'https://unordered.example.com/paybell');
  });

  test('keeps the order of events that are accepted at the same time', async () => {
    const second =
      store.engine === 'sqlite'
        ? store.db
        : await openDatabase({ engine: 'postgres', url: store.url, deadlineMs: TEST_DEADLINE_MS });
    const { entityId, webhookId } = await newTenant();
    for (let race = 0; race < RACES; race++) {
      const agreementId = `race-${race}`;
      const postUrl = race % 2 === 0 ? OTHER : HOOK;
      await send(store.db, entityId, `${race}.1`, CREATED, agreementId);
      await Promise.all([
        move(second, entityId, webhookId, postUrl),
        send(store.db, entityId, `${race}.2`, CREATED, agreementId),
      ]);
      await send(second, entityId, `${race}.3`, CREATED, agreementId);
      const names = (await deliverInOrder(entityId)).map((one) => one.split(' ')[0]);
      expect(names).toEqual([1, 2, 3].map((event) => `${race}.${event}`));
    }
    expect(await countRows(store.db, 'order_keys', entityId)).toBe(0);
    if (second !== store.db) await second.close();
  });
});
