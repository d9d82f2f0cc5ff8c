import { expect, test } from 'bun:test';
import { reconciledEventsSchema, reconciliationSchema } from '../../../../src/contract/events/reconciliation.ts';
import { call, createTenant, type Tenant, testApp } from '../../../support/api.ts';
import { newStoredNetwork } from '../../../support/chain/stored-network.ts';
import { completeAll, HOOK, LATE_ON_1 } from '../../../support/deliveries.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { runTasks } from '../../../support/tasks.ts';
import { register, seedWebhooks } from '../../../support/webhooks.ts';

/** Days with events whose deliveries are not all made yet: no count of deliveries shows the missing ones. */

const API = '/api/v1/crypto';
const WEBHOOKS = 1_200;

onSuiteEngine('the reconciliation of a day', (store) => {
  async function read(tenant: Tenant, path: string): Promise<unknown> {
    // A test at midnight may not have its events in the day that it asks for.
    const day = new Date().toISOString().slice(0, 10);
    const response = await call(testApp(store.db), tenant, `${API}${path}?day=${day}`);
    expect(response.status).toBe(200);
    return response.json();
  }
  const progressOf = async (tenant: Tenant) =>
    reconciledEventsSchema.parse(await read(tenant, '/reconciliation/events')).events.map(({ progress }) => progress);
  const acknowledgedOf = async (tenant: Tenant) =>
    reconciliationSchema.parse(await read(tenant, '/reconciliation')).acknowledged;

  test('waits for an event while some of its deliveries are still a task', async () => {
    const { db } = store;
    const tenant = await createTenant(db);
    const urls = Array.from({ length: WEBHOOKS }, (_, index) => ({ ...LATE_ON_1, postUrl: `${HOOK}/${index}` }));
    await seedWebhooks(db, tenant.entityId, urls);
    const accepted = await call(testApp(db), tenant, `${API}/events`, { json: LATE_ON_1 });
    expect(await accepted.json()).toMatchObject({ deliveries: WEBHOOKS });
    await completeAll(db, tenant.entityId, 'delivered');
    expect([await progressOf(tenant), await acknowledgedOf(tenant)]).toEqual([['waiting'], 0]);
    await runTasks(db);
    expect([await progressOf(tenant), await acknowledgedOf(tenant)]).toEqual([['sent'], 0]);
    await completeAll(db, tenant.entityId, 'delivered');
    expect([await progressOf(tenant), await acknowledgedOf(tenant)]).toEqual([['acknowledged'], 1]);
  });

  test('waits for a held event until every finality that a webhook wants is reached and delivered', async () => {
    const { db } = store;
    const { networkId, tenant, chain, follow, followBlocks, acceptFacts } = await newStoredNetwork(db);
    // Beside the webhook for 4 confirmations.
    await register(db, tenant.entityId, `${HOOK}/seen`, [{ networkId, event: 'TransferProcessed' }]);
    const transaction = chain.transaction();
    const include = () => {
      chain.mine([transaction]);
      return follow(1);
    };
    const deliver = () => completeAll(db, tenant.entityId, 'delivered');
    const json = { event: 'TransferProcessed', networkId, transactionHash: transaction.hash };
    const app = testApp(db, { CHAIN_RPC: `${networkId}=http://127.0.0.1:1` });
    const held = await call(app, tenant, `${API}/events?hold=chain`, { json });
    expect(await held.json()).toMatchObject({ held: true });
    const steps: [string, () => Promise<unknown>, string][] = [
      ['it is held', () => follow(2), 'waiting'],
      ['its block is read', include, 'waiting'],
      ['its first finality is accepted', () => acceptFacts(), 'waiting'],
      ['its first delivery is made', () => runTasks(db), 'waiting'],
      ['its first delivery is acknowledged', deliver, 'waiting'],
      ['it has 4 confirmations', () => followBlocks(3), 'waiting'],
      ['its second finality is accepted', () => acceptFacts(), 'waiting'],
      ['its second delivery is made', () => runTasks(db), 'sent'],
      ['its second delivery is acknowledged', deliver, 'acknowledged'],
      ['it is final', () => followBlocks(30), 'acknowledged'],
    ];
    const found: string[] = [];
    for (const [name, work] of steps) {
      await work();
      found.push(`${name}: ${(await progressOf(tenant)).join()}`);
    }
    expect(found).toEqual(steps.map(([name, , progress]) => `${name}: ${progress}`));
  });

  test('has nothing to deliver of a held event whose transaction failed', async () => {
    const { networkId, tenant, chain, followBlocks } = await newStoredNetwork(store.db);
    const transaction = chain.transaction({ isSuccess: false });
    const json = { event: 'TransferProcessed', networkId, transactionHash: transaction.hash };
    const app = testApp(store.db, { CHAIN_RPC: `${networkId}=http://127.0.0.1:1` });
    await call(app, tenant, `${API}/events?hold=chain`, { json });
    chain.mine([transaction]);
    await followBlocks(2);
    expect(await progressOf(tenant)).toEqual(['waiting']);
    await followBlocks(30);
    expect(await progressOf(tenant)).toEqual(['nothing']);
  });

  test('waits for a payment whose retraction is not published yet', async () => {
    const { db } = store;
    const { tenant, chain, pay, follow, followBlocks, acceptFacts } = await newStoredNetwork(db);
    pay();
    await follow(2);
    await followBlocks(4);
    await acceptFacts();
    await completeAll(db, tenant.entityId, 'delivered');
    expect(await progressOf(tenant)).toEqual(['acknowledged']);
    chain.fork(5, [[], [], [], [], [], []]);
    await followBlocks(6);
    expect(await progressOf(tenant)).toEqual(['waiting']);
    await acceptFacts();
    expect(await progressOf(tenant)).toEqual(['acknowledged', 'waiting']);
    await runTasks(db);
    await completeAll(db, tenant.entityId, 'delivered');
    expect(await progressOf(tenant)).toEqual(['acknowledged', 'acknowledged']);
  });
});
