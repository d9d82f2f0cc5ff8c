import { expect, test } from 'bun:test';
import type { WaitsFor } from '../../../src/contract/deliveries/waits-for.ts';
import { deliveryListQuerySchema } from '../../../src/contract/deliveries.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import { listDeliveries, readDelivery } from '../../../src/store/deliveries/read.ts';
import { suspendWebhook } from '../../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import {
  accept,
  addReceiver,
  claim,
  failedWith,
  HOOK,
  letPass,
  newEvent,
  newReceiver,
} from '../../support/deliveries.ts';
import { configure } from '../../support/endpoints.ts';
import { attemptThat, keepOrder, record } from '../../support/order.ts';
import { countWaits, onSuiteEngine } from '../../support/stores.ts';

const nowS = () => Math.floor(Date.now() / 1000);
const MINUTE_S = 60;

/** Near the time of this test, whose machine may be slow. */
const recent = (seconds: number | null | undefined) => Math.abs((seconds ?? 0) - nowS()) < MINUTE_S;

/** What each unsent delivery waits for, oldest first, read in the list and one by one. */
async function waits(db: Database, entityId: string): Promise<(WaitsFor | null)[]> {
  const query = deliveryListQuerySchema.parse({ sortDir: 'asc', limit: '100' });
  const { deliveries } = await listDeliveries(db, entityId, query);
  for (const { deliveryId, waitsFor } of deliveries) {
    expect((await readDelivery(db, entityId, deliveryId))?.waitsFor?.kind).toBe(waitsFor?.kind as never);
  }
  return deliveries.map(({ waitsFor }) => waitsFor);
}

const ofAgreement = (agreementId: string) => ({
  body: JSON.stringify({ event: 'LatePayment', networkId: 1, agreementId, amount: '25.00', currency: 'USDC' }),
  agreementId,
});

onSuiteEngine('an unsent delivery says what it waits for', (store) => {
  const oneEvent = async () => {
    const receiver = await newReceiver(store.db);
    await accept(store.db, newEvent(receiver.entityId));
    return receiver;
  };

  /** How often a list waits for the database. */
  async function roundTrips(entityId: string, query: Record<string, string> = {}): Promise<number> {
    let trips = 0;
    const db = countWaits(store.db, () => {
      trips++;
    });
    const { deliveries } = await listDeliveries(db, entityId, deliveryListQuerySchema.parse(query));
    expect(deliveries).not.toBeEmpty();
    return trips;
  }

  test('and its list waits for the database at most eight times, however many webhooks wait', async () => {
    const { entityId } = await oneEvent();
    // The scope, the total, the ids, the rows, their names, what they wait for, and the two reads of each destination.
    expect(await roundTrips(entityId)).toBe(8);
    // The total is known with the scope.
    expect(await roundTrips(entityId, { status: 'pending' })).toBe(7);
    await addReceiver(store.db, entityId, 'https://second.example.com/hook');
    await accept(store.db, newEvent(entityId));
    expect(await roundTrips(entityId)).toBeLessThanOrEqual(8);
  });

  test('a free slot, once it is due', async () => {
    const { entityId } = await oneEvent();
    const [first] = await waits(store.db, entityId);
    expect(first).toMatchObject({ kind: 'slot', dateUntil: null });
    expect(recent(first?.dateSince)).toBe(true);
  });

  test('its next attempt, after one that failed', async () => {
    const { entityId } = await oneEvent();
    const [claimed] = await claim(store.db, entityId);
    if (claimed === undefined) throw new Error('nothing was claimed');
    await record(store.db, attemptThat('retried', claimed, 3_600_000));
    const [first] = await waits(store.db, entityId);
    expect(first?.kind).toBe('retry');
    expect((first?.dateUntil ?? 0) - nowS()).toBeGreaterThan(3_600 - MINUTE_S);
  });

  test('a resume of its webhook, with the date and the reason', async () => {
    const { entityId, webhookId } = await oneEvent();
    await suspendWebhook(store.db, entityId, webhookId, 'gone', { ...TEST_CHANGE, nowS: 1_763_168_400 });
    expect(await waits(store.db, entityId)).toMatchObject([
      { kind: 'suspended', dateSince: 1_763_168_400, reason: 'gone' },
    ]);
  });

  test('a resume of its endpoint, with the one who paused it, even if the webhook is suspended too', async () => {
    const { entityId, webhookId } = await oneEvent();
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    await configure(store.db, entityId, HOOK, { paused: true }, { actor: 'operator:anna', nowS: nowS() });
    const [first] = await waits(store.db, entityId);
    expect(first).toMatchObject({ kind: 'paused', actor: 'operator:anna', actorName: null });
    expect(recent(first?.dateSince)).toBe(true);
  });

  test('the first delivery of its order key', async () => {
    const { entityId } = await newReceiver(store.db);
    await keepOrder(store.db, entityId, HOOK);
    await accept(store.db, ...['agr_1', 'agr_1', 'agr_1', 'agr_2'].map((id) => newEvent(entityId, ofAgreement(id))));
    const { deliveries } = await listDeliveries(
      store.db,
      entityId,
      deliveryListQuerySchema.parse({ sortDir: 'asc', limit: '100' }),
    );
    const [first] = deliveries;
    const behind = { kind: 'order', deliveryId: first?.deliveryId };
    expect(await waits(store.db, entityId)).toMatchObject([{ kind: 'slot' }, behind, behind, { kind: 'slot' }]);
  });

  test('its receiver, which does not respond to earlier requests', async () => {
    const { entityId } = await newReceiver(store.db);
    await accept(store.db, ...Array.from({ length: 5 }, () => newEvent(entityId)));
    await claim(store.db, entityId, 3);
    expect((await waits(store.db, entityId)).map((each) => each?.kind)).toEqual(Array(5).fill('slot'));
    await letPass(store.db, entityId, 20_000);
    const found = await waits(store.db, entityId);
    expect(found).toMatchObject(Array(5).fill({ kind: 'receiver', requests: 3, lastStatusCode: null }));
    expect(nowS() - (found[4]?.dateSince ?? 0)).toBeGreaterThanOrEqual(19);
  });

  test('its receiver, which fails, with the last failure', async () => {
    const { entityId } = await newReceiver(store.db);
    await accept(store.db, newEvent(entityId), newEvent(entityId));
    const [claimed] = await claim(store.db, entityId, 1);
    if (claimed === undefined) throw new Error('nothing was claimed');
    await record(store.db, { ...attemptThat('retried', claimed), outcome: failedWith('timeout') });
    await store.db.transaction((queries) =>
      queries.run('update queue_heads set failing_since_ms = $2 where entity_id = $1', [
        entityKey(store.db.dialect, entityId),
        1_763_168_400_000,
      ]),
    );
    const [, second] = await waits(store.db, entityId);
    expect(second).toMatchObject({ kind: 'receiver', requests: 0, dateSince: 1_763_168_400, lastError: 'timeout' });
  });

  test('the rate limit of its endpoint, until all that wait can be sent', async () => {
    const { entityId } = await newReceiver(store.db);
    await configure(store.db, entityId, HOOK, { rateLimit: 1 });
    await accept(store.db, ...Array.from({ length: 100 }, () => newEvent(entityId)));
    const [first] = await waits(store.db, entityId);
    expect(first).toMatchObject({ kind: 'rate_limit', requestsPerSecond: 1 });
    expect(Math.abs((first?.dateUntil ?? 0) - nowS() - 100)).toBeLessThan(MINUTE_S);
  });

  test('nothing, once it is complete', async () => {
    const { entityId } = await oneEvent();
    const [claimed] = await claim(store.db, entityId);
    if (claimed === undefined) throw new Error('nothing was claimed');
    await record(store.db, attemptThat('delivered', claimed));
    expect(await waits(store.db, entityId)).toEqual([null]);
  });
});

onSuiteEngine('a delivery has the summary of its payload', (store) => {
  test('unless the payload says nothing of a payment or is long', async () => {
    const { entityId } = await newReceiver(store.db);
    const long = JSON.stringify({ amount: '25.00', note: 'x'.repeat(9_000) });
    const bodies = [
      ofAgreement('agr_1').body,
      '{"amount": 25}',
      'no JSON',
      long,
      '{"payer":"0x1","transferId":"trf_1"}',
    ];
    await accept(store.db, ...bodies.map((body) => newEvent(entityId, { body })));
    const query = deliveryListQuerySchema.parse({ sortDir: 'asc' });
    const { deliveries } = await listDeliveries(store.db, entityId, query);
    const nothing = { amount: null, token: null, agreementId: null, transferId: null, payer: null };
    expect(deliveries.map(({ summary }) => summary)).toEqual([
      { ...nothing, amount: '25.00', token: 'USDC', agreementId: 'agr_1' },
      null,
      null,
      null,
      { ...nothing, transferId: 'trf_1', payer: '0x1' },
    ]);
  });
});
