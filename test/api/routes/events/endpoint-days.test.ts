import { beforeEach, expect, test } from 'bun:test';
import { type BookEntry, Reconciliations } from '../../../../src/client/events/reconciliations.ts';
import { Transport } from '../../../../src/client/transport.ts';
import type { DestinationKey } from '../../../../src/domain/post-url.ts';
import { destinationKey } from '../../../../src/domain/post-url.ts';
import { claimDeliveries } from '../../../../src/store/deliveries/claim/claim.ts';
import { recordAttempts } from '../../../../src/store/deliveries/record/record-attempts.ts';
import { redeliver } from '../../../../src/store/deliveries/redeliver/redeliver.ts';
import { moveWebhook } from '../../../../src/store/webhooks/change.ts';
import { call, createTenant, TEST_CHANGE, type Tenant, testApp } from '../../../support/api.ts';
import { newStoredNetwork } from '../../../support/chain/stored-network.ts';
import { addReceiver, completeAll, LATE_ON_1, respondedWith } from '../../../support/deliveries.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { runTasks } from '../../../support/tasks.ts';
import { register, seedWebhooks } from '../../../support/webhooks.ts';

/** The day of one endpoint, while others are down, moved or slow. */

const API = '/api/v1/crypto';
const UP = 'https://up.example.com/hook';
const DOWN = 'https://down.example.com/hook';

onSuiteEngine('the reconciliation of an endpoint', (store) => {
  let tenant: Tenant;
  // A test at midnight may not have its events in the day that it asks for.
  const today = () => new Date().toISOString().slice(0, 10);

  beforeEach(async () => {
    tenant = await createTenant(store.db);
  });

  const books = (of = tenant) =>
    new Reconciliations(
      new Transport({
        url: 'http://paybell.test',
        ...of,
        fetch: (url, init) =>
          call(testApp(store.db), of, url.slice('http://paybell.test'.length), { ...(init as object) }),
      }),
    );

  async function endpointOf(postUrl: string, of = tenant): Promise<string> {
    const response = await call(testApp(store.db), of, `${API}/endpoints?postUrl=${encodeURIComponent(postUrl)}`);
    const { endpoints } = (await response.json()) as { endpoints: { endpointId: string; postUrl: string }[] };
    return endpoints.find((endpoint) => endpoint.postUrl === postUrl)?.endpointId ?? '';
  }

  async function listed(): Promise<{ deliveryId: string; postUrl: string }[]> {
    const response = await call(testApp(store.db), tenant, `${API}/deliveries`);
    return ((await response.json()) as { deliveries: { deliveryId: string; postUrl: string }[] }).deliveries;
  }

  async function publish(eventId: string, event = 'LatePayment'): Promise<BookEntry> {
    const entry = { eventId, event, amount: '1.50' };
    const response = await call(testApp(store.db), tenant, `${API}/events`, { json: { networkId: 1, ...entry } });
    expect(response.status).toBe(202);
    return entry;
  }

  /** Gives the deliveries to one host this result. */
  async function complete(postUrl: string, status: 'delivered' | 'failed', of = tenant): Promise<void> {
    const { db } = store;
    const destination: DestinationKey = destinationKey(of.entityId, postUrl);
    const { claimed } = await claimDeliveries(db, [{ destination, most: 100 }], 60_000);
    const outcome = respondedWith(status === 'delivered' ? 200 : 500);
    const next = { status, steps: 1, delayMs: null, suspend: null } as const;
    const attempts = claimed.map((delivery) => ({ delivery, startedAtMs: 0, outcome, next }));
    await db.transaction((queries) => recordAttempts(queries, db.dialect, attempts));
  }

  test('has no difference if it acknowledged everything, while another endpoint is down', async () => {
    const { db } = store;
    await addReceiver(db, tenant.entityId, UP);
    await addReceiver(db, tenant.entityId, DOWN);
    await register(db, tenant.entityId, DOWN, [{ networkId: 1, event: 'TransferFinalized' }]);
    const own = [await publish('one'), await publish('two'), await publish('three')];
    await publish('only-for-the-other', 'TransferFinalized');
    await complete(UP, 'delivered');
    const day = today();
    const up = { day, endpointId: await endpointOf(UP) };
    const all = await books().compare({ day }, own);
    expect(all.differences.map(({ difference }) => difference)).toEqual(Array(3).fill('unacknowledged'));
    expect(await books().compare(up, own)).toMatchObject({ agrees: true, differences: [] });
    expect(await books().get(up)).toMatchObject({ endpointId: up.endpointId, events: 3, acknowledged: 3 });

    const down = { day, endpointId: await endpointOf(DOWN) };
    expect(await books().get(down)).toMatchObject({ events: 4, acknowledged: 0 });
    await complete(DOWN, 'failed');
    const { events } = await books().listEvents(down);
    expect(events.map(({ progress }) => progress)).toEqual(Array(4).fill('failed'));
    expect(await books().compare(up, own)).toMatchObject({ agrees: true });
  });

  test('has the deliveries that wait for it after its webhook has moved, and keeps those that it acknowledged', async () => {
    const { db } = store;
    const webhookId = await addReceiver(db, tenant.entityId, UP);
    await addReceiver(db, tenant.entityId, DOWN);
    const [before, day] = [await endpointOf(UP), today()];
    const first = await publish('first');
    await complete(UP, 'delivered');
    const second = await publish('second');
    const moved = { postUrl: 'https://new.example.com/hook' };
    const response = await call(testApp(db), tenant, `${API}/webhooks/classic/${webhookId}`, {
      method: 'PATCH',
      json: moved,
    });
    expect(response.status).toBe(200);
    const after = await endpointOf(moved.postUrl);
    expect(await books().get({ day, endpointId: after })).toMatchObject({ events: 1, acknowledged: 0 });
    await complete(moved.postUrl, 'delivered');
    expect(await books().compare({ day, endpointId: after }, [second])).toMatchObject({ agrees: true });
    // Its last webhook is gone, and retention keeps its deliveries.
    expect(await books().compare({ day, endpointId: before }, [first])).toMatchObject({ agrees: true });
  });

  test('keeps what it acknowledged if a redelivery to the next URL of its webhook fails', async () => {
    const { db } = store;
    const webhookId = await addReceiver(db, tenant.entityId, UP);
    await addReceiver(db, tenant.entityId, DOWN);
    const [before, day] = [await endpointOf(UP), today()];
    const own = await publish('one');
    await complete(UP, 'delivered');
    const next = 'https://new.example.com/hook';
    await moveWebhook(db, tenant.entityId, webhookId, next, () => true, TEST_CHANGE);
    const after = await endpointOf(next);
    const delivery = (await listed()).find(({ postUrl }) => postUrl === UP);
    await redeliver(db, tenant.entityId, delivery?.deliveryId ?? '');
    await complete(next, 'failed');
    expect(await books().get({ day, endpointId: after })).toMatchObject({ acknowledged: 0 });
    expect(await books().compare({ day, endpointId: before }, [own])).toMatchObject({ agrees: true });
  });

  test('waits for an event that a task will deliver to it, unless its filter leaves the event out', async () => {
    const { db } = store;
    const first = Array.from({ length: 1_050 }, (_, index) => ({ ...LATE_ON_1, postUrl: `${DOWN}/${index}` }));
    await seedWebhooks(db, tenant.entityId, first);
    await addReceiver(db, tenant.entityId, UP);
    const filtered = await addReceiver(db, tenant.entityId, `${UP}/filtered`);
    const options = { filter: { amount: ['7'] } };
    const set = await call(testApp(db), tenant, `${API}/webhooks/classic/${filtered}/options`, {
      method: 'PUT',
      json: options,
    });
    expect(set.status).toBe(200);
    await publish('one');
    const [up, other, day] = [await endpointOf(UP), await endpointOf(`${UP}/filtered`), today()];
    const progress = async (endpointId: string) =>
      (await books().listEvents({ day, endpointId })).events.map((event) => event.progress);
    expect([await progress(up), await progress(other)]).toEqual([['waiting'], []]);
    await runTasks(db);
    await complete(UP, 'delivered');
    expect([await progress(up), await progress(other)]).toEqual([['acknowledged'], []]);
  });

  test('waits for a held event only until its own finality', async () => {
    const { db } = store;
    const { networkId, tenant: owner, chain, follow, followBlocks, acceptFacts } = await newStoredNetwork(db);
    const [seen, other] = [`${UP}/seen`, `${UP}/other`];
    await register(db, owner.entityId, seen, [{ networkId, event: 'TransferProcessed' }]);
    await register(db, owner.entityId, other, [LATE_ON_1]);
    const transaction = chain.transaction();
    const json = { event: 'TransferProcessed', networkId, transactionHash: transaction.hash };
    const app = testApp(db, { CHAIN_RPC: `${networkId}=http://127.0.0.1:1` });
    expect(await (await call(app, owner, `${API}/events?hold=chain`, { json })).json()).toMatchObject({ held: true });
    const day = today();
    const [of1, of2] = [await endpointOf(seen, owner), await endpointOf(other, owner)];
    const progress = async (endpointId?: string) =>
      (await books(owner).listEvents({ day, ...(endpointId !== undefined && { endpointId }) })).events.map(
        (event) => event.progress,
      );
    await follow(2);
    expect([await progress(of1), await progress(of2)]).toEqual([['waiting'], []]);
    chain.mine([transaction]);
    await follow(1);
    await acceptFacts();
    await runTasks(db);
    await complete(seen, 'delivered', owner);
    // Another webhook waits for 4 confirmations.
    expect([await progress(), await progress(of1)]).toEqual([['waiting'], ['acknowledged']]);
    await followBlocks(3);
    expect([await progress(), await progress(of1)]).toEqual([['waiting'], ['acknowledged']]);
    await acceptFacts();
    await runTasks(db);
    await completeAll(db, owner.entityId, 'failed');
    expect([await progress(), await progress(of1)]).toEqual([['failed'], ['acknowledged']]);
  });
});
