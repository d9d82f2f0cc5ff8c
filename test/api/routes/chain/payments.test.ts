import { expect, test } from 'bun:test';
import type { PaymentDetail, PaymentList } from '../../../../src/contract/chain/payments.ts';
import type { FoundFact } from '../../../../src/domain/chain/facts.ts';
import { call, createTenant, testApp } from '../../../support/api.ts';
import { at, newPaidNetwork, USDC } from '../../../support/chain/paid-network.ts';
import { claim } from '../../../support/deliveries.ts';
import { attemptThat, record } from '../../../support/order.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { register } from '../../../support/webhooks.ts';

const BASE = '/api/v1/crypto';
const PAYMENTS = `${BASE}/payments`;
const HOOK = 'https://hooks.example.com/paybell';

onSuiteEngine('payments', (store) => {
  async function setUp() {
    const { db } = store;
    const tenant = await createTenant(db);
    const app = testApp(db);
    const network = newPaidNetwork(db, tenant.entityId);
    const idOf = ({ factId }: FoundFact) => `pay_${factId.slice(4)}`;
    const list = async (query = '') => {
      const response = await call(app, tenant, `${PAYMENTS}?${query}`);
      expect(response.status).toBe(200);
      return (await response.json()) as PaymentList;
    };
    const read = async (id: string) => {
      const response = await call(app, tenant, `${PAYMENTS}/${id}`);
      expect(response.status).toBe(200);
      return (await response.json()) as PaymentDetail;
    };
    const hook = (path: string, event: string) =>
      register(db, tenant.entityId, HOOK + path, [{ networkId: network.networkId, event }]);
    return { tenant, app, ...network, idOf, list, read, hook };
  }

  test('are found by their transaction, with the id of the payment', async () => {
    const { payment, pay, list, idOf } = await setUp();
    const [one, other] = [payment(10), payment(11)];
    await pay(20, [one, other]);
    const { totalResults, payments } = await list(`q=${one.transactionHash.toUpperCase().replace('0X', '0x')}`);
    expect([totalResults, payments[0]?.paymentId]).toEqual([1, idOf(one)]);
    expect((await list(`transactionHash=${other.transactionHash}`)).payments[0]?.paymentId).toBe(idOf(other));
    expect((await list('limit=1&page=2')).payments).toHaveLength(1);
  });

  test('say for each webhook what it has got, what it waits for, and what it will not get', async () => {
    const { tenant, payment, pay, step, read, idOf, hook } = await setUp();
    await hook('/processed', 'TransferProcessed');
    await hook('/finalized', 'TransferFinalized');
    const fact = payment(10);
    await pay(10, [fact]);
    await hook('/late', 'TransferProcessed');
    const statuses = async () =>
      (await read(idOf(fact))).webhooks.map(({ postUrl, status, reason }) => [
        postUrl.slice(HOOK.length),
        status,
        reason,
      ]);
    expect(await statuses()).toEqual([
      ['/processed', 'waits', 'The first attempt is due.'],
      ['/finalized', 'waits', 'The payment does not have the finality final yet.'],
      ['/late', 'not_wanted', 'The webhook was registered after the event.'],
    ]);
    const [claimed] = await claim(store.db, tenant.entityId);
    if (claimed === undefined) throw new Error('nothing is due');
    await record(store.db, attemptThat('delivered', claimed));
    const detail = await read(idOf(fact));
    expect(detail).toMatchObject({
      ...{ state: 'seen', confirmations: 1, waitsFor: { finality: 'final', webhooks: 1 } },
      deliveries: { delivered: 1, waiting: 0, failed: 0 },
      events: [{ event: 'TransferProcessed', totalDeliveries: 1 }],
    });
    expect(detail.webhooks[0]).toMatchObject({ status: 'delivered', reason: null });
    expect(detail.timeline.map(({ what }) => what).sort()).toEqual(['delivered', 'event', 'seen']);
    await step(30, [], { final: 20 });
    expect((await statuses())[1]).toEqual(['/finalized', 'waits', 'The first attempt is due.']);
    expect((await read(fact.factId)).state).toBe('final');
  });

  test('that were claimed and retracted promise nothing about what the receiver has', async () => {
    const { tenant, payment, pay, step, read, idOf, hook } = await setUp();
    await hook('/processed', 'TransferProcessed');
    const fact = payment(10);
    const key = { entityId: fact.entityId, factId: fact.factId };
    await pay(10, [fact]);
    expect(await claim(store.db, tenant.entityId)).toHaveLength(1);
    await step(11, [{ change: 'lost', lostAtHead: 11, ...key }]);
    await step(12, [{ change: 'retracted', ...key }]);
    expect((await read(idOf(fact))).webhooks[0]).toMatchObject({
      status: 'retracted',
      reason: expect.stringContaining('may have it gets EventRetracted'),
    });
  });

  test('have a timeline of every move, loss, return and retraction', async () => {
    const { payment, pay, step, read, idOf, hook } = await setUp();
    await hook('/finalized', 'TransferFinalized');
    const fact = payment(10);
    const key = { entityId: fact.entityId, factId: fact.factId };
    await pay(10, [fact]);
    await step(11, [{ change: 'moved', position: at(11, 'b'), ...key }]);
    await step(12, [{ change: 'lost', lostAtHead: 12, ...key }]);
    expect((await read(idOf(fact))).webhooks[0]).toMatchObject({
      status: 'waits',
      reason: expect.stringContaining('gone'),
    });
    await step(13, [{ change: 'moved', position: at(13, 'c'), ...key }]);
    await step(14, [{ change: 'lost', lostAtHead: 14, ...key }]);
    await step(15, [{ change: 'retracted', ...key }]);
    const { timeline, webhooks } = await read(idOf(fact));
    expect(timeline.map(({ what, blockNumber }) => `${what} ${blockNumber}`)).toEqual([
      'seen 10',
      'moved 11',
      'lost 11',
      'back 13',
      'lost 13',
      'retracted 13',
    ]);
    expect(webhooks[0]).toMatchObject({ status: 'retracted', eventId: null, deliveryId: null });
  });

  test('have a timeline of disputes, of safe blocks and of deliveries that failed', async () => {
    const { tenant, app, payment, pay, step, read, idOf, hook } = await setUp();
    await hook('/safe', 'TransferProcessed');
    const listed = await call(app, tenant, `${BASE}/webhooks/classic`);
    const [webhook] = ((await listed.json()) as { webhooks: { webhookId: string }[] }).webhooks;
    const options = { method: 'PUT', json: { finality: 'safe', filter: null } };
    await call(app, tenant, `${BASE}/webhooks/classic/${webhook?.webhookId}/options`, options);
    const fact = payment(10);
    const key = { entityId: fact.entityId, factId: fact.factId };
    await pay(10, [fact]);
    const votes = { yes: ['1#1'], no: ['1#2'] };
    await step(11, [{ change: 'judged', evidence: { votes, standing: 'disputed' }, ...key }]);
    await step(12, [{ change: 'judged', evidence: { votes, standing: 'confirmed' }, ...key }]);
    await step(13, [{ change: 'judged', evidence: { votes, standing: 'confirmed' }, ...key }], { safe: 12 });
    const [claimed] = await claim(store.db, tenant.entityId);
    if (claimed === undefined) throw new Error('nothing is due');
    await record(store.db, attemptThat('failed', claimed));
    const { timeline } = await read(idOf(fact));
    const steps = timeline.map(({ what }) => what);
    expect(steps.toSorted()).toEqual(['disputed', 'event', 'failed', 'safe', 'seen', 'seen']);
    expect(steps.filter((what) => what === 'seen' || what === 'disputed')).toEqual(['seen', 'disputed', 'seen']);
    expect(timeline.find(({ what }) => what === 'failed')).toMatchObject({ webhookId: webhook?.webhookId });
  });

  test('lead from their transaction to their events and deliveries', async () => {
    const { tenant, app, payment, pay, hook } = await setUp();
    await hook('/processed', 'TransferProcessed');
    const [one, other] = [payment(10), payment(11)];
    await pay(20, [one, other]);
    const total = async (path: string) => {
      const response = await call(app, tenant, `${BASE}${path}`);
      return ((await response.json()) as { totalResults: number }).totalResults;
    };
    for (const path of ['/events', '/deliveries']) {
      expect(await total(path)).toBe(2);
      expect(await total(`${path}?transactionHash=${one.transactionHash}`)).toBe(1);
      expect(await total(`${path}?transactionHash=0x${'0'.repeat(64)}`)).toBe(0);
      const eventId = `${other.factId}_1_TransferProcessed_seen`;
      expect(await total(`${path}?transactionHash=${one.transactionHash}&eventId=${eventId}`)).toBe(0);
      expect(await total(`${path}?transactionHash=${other.transactionHash}&eventId=${eventId}`)).toBe(1);
    }
  });

  test('404 for a payment of another entity, an unknown one, an agreement and a text without an id', async () => {
    const { tenant, app, payment, pay, idOf } = await setUp();
    const facts = [payment(10), payment(11, { kind: 'AgreementSignedUp' })];
    await pay(20, facts);
    const [paid, ...others] = facts;
    if (paid === undefined) throw new Error('there is no payment');
    await expectProblem(await call(app, await createTenant(store.db), `${PAYMENTS}/${idOf(paid)}`), 'not_found');
    for (const id of [...others.map(idOf), `pay_${'z'.repeat(26)}`, 'pay_', '0x12', '%00']) {
      await expectProblem(await call(app, tenant, `${PAYMENTS}/${id}`), 'not_found');
    }
  });

  test('a zero amount and dust are found by their transaction with a label, and cause no event', async () => {
    const { tenant, app, payment, pay, hook, list } = await setUp();
    await hook('/processed', 'TransferProcessed');
    const fields = { token: USDC };
    const zero = payment(10, { isDust: true, isSilent: true, fields: { ...fields, amount: '0', amountBase: '0' } });
    const dust = payment(11, { isDust: true, isSilent: true, fields: { ...fields, amount: '0.01' } });
    await pay(20, [zero, dust], { final: 20 });
    for (const [{ transactionHash }, amount] of [
      [zero, '0'],
      [dust, '0.01'],
    ] as const) {
      const { payments } = await list(`q=${transactionHash}`);
      expect(payments).toMatchObject([
        { amount, isDust: true, waitsFor: null, deliveries: { delivered: 0, waiting: 0 } },
      ]);
    }
    const events = await call(app, tenant, `${BASE}/events`);
    expect(((await events.json()) as { totalResults: number }).totalResults).toBe(0);
  });

  test('400 for bounds without a token, wrong amounts, states and unknown parameters, all at once', async () => {
    const { tenant, app } = await setUp();
    const errorsOf = async (query: string) => {
      const problem = await expectProblem(await call(app, tenant, `${PAYMENTS}?${query}`), 'invalid_request');
      return Object.keys(messagesByName(problem)).sort();
    };
    expect(await errorsOf('minAmount=1&maxAmount=2')).toEqual(['maxAmount', 'minAmount']);
    expect(await errorsOf(`token=${USDC}&minAmount=-1&maxAmount=1e3&amount=0x1`)).toEqual([
      'amount',
      'maxAmount',
      'minAmount',
    ]);
    expect(await errorsOf('state=done&hash=1&limit=101')).toEqual(['hash', 'limit', 'state']);
    expect(await errorsOf(`q=${'a'.repeat(257)}`)).toEqual(['q']);
  });
});
