import { expect, test } from 'bun:test';
import { call, createTenant, type Tenant, testApp } from '../../../support/api.ts';
import { claim, HOOK } from '../../../support/deliveries.ts';
import { attemptThat, record } from '../../../support/order.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { register } from '../../../support/webhooks.ts';

const EVENTS = '/api/v1/crypto/events';
const HASH = `0x${'Ab'.repeat(32)}`;
const PAYMENT = { event: 'TransferProcessed', networkId: 8453, eventId: 'paid' };
const RETRACTION = { event: 'EventRetracted', networkId: 8453, eventId: 'undone', retracts: { eventId: 'paid' } };

onSuiteEngine('POST /events', (store) => {
  const newTenant = async () => {
    const tenant = await createTenant(store.db);
    await register(store.db, tenant.entityId, HOOK, [{ networkId: 8453, event: 'TransferProcessed' }]);
    return tenant;
  };
  const send = (tenant: Tenant, json: object, query = '', settings = {}) =>
    call(testApp(store.db, settings), tenant, `${EVENTS}${query}`, { json });

  test('takes an event back: 202 with how many were told, 200 for the same again, and each wrong one named', async () => {
    const tenant = await newTenant();
    await send(tenant, PAYMENT);
    const [delivery] = await claim(store.db, tenant.entityId);
    if (delivery !== undefined) await record(store.db, attemptThat('delivered', delivery));
    const unknown = await expectProblem(
      await send(tenant, { ...RETRACTION, retracts: { eventId: 'x' } }),
      'invalid_request',
    );
    expect(Object.keys(messagesByName(unknown))).toEqual(['retracts.eventId']);
    for (const status of [202, 200]) {
      const response = await send(tenant, RETRACTION);
      expect([response.status, await response.json()]).toEqual([status, { eventId: 'undone', deliveries: 1 }]);
    }
    const twice = await expectProblem(await send(tenant, { ...RETRACTION, eventId: 'again' }), 'conflict');
    expect(twice.detail).toContain('was retracted before');
    const undone = { ...RETRACTION, eventId: 'third', retracts: { eventId: 'undone' } };
    expect((await expectProblem(await send(tenant, undone), 'conflict')).detail).toContain('is a retraction itself');
    const shown = await call(testApp(store.db), tenant, `${EVENTS}/paid`);
    expect(await shown.json()).toMatchObject({ retractedBy: 'undone' });
    const again = await call(testApp(store.db), tenant, `/api/v1/crypto/deliveries/${delivery?.deliveryId}/redeliver`, {
      method: 'POST',
    });
    await expectProblem(again, 'event_retracted');
  });

  test('refuses a retraction that names two events', async () => {
    const tenant = await newTenant();
    const body = '{"event":"EventRetracted","networkId":1,"retracts":{"eventId":"a"},"retracts":{"eventId":"b"}}';
    const headers = { 'content-type': 'application/json' };
    const response = await call(testApp(store.db), tenant, EVENTS, { method: 'POST', body, headers });
    const problem = await expectProblem(response, 'invalid_request');
    expect(messagesByName(problem)).toEqual({ retracts: 'is given more than once; give it once' });
  });

  test('holds an event for its transaction, on a network that the server follows', async () => {
    const tenant = await newTenant();
    const settings = { CHAIN_RPC: '8453=http://127.0.0.1:1' };
    const response = await send(tenant, { ...PAYMENT, transactionHash: HASH }, '?hold=chain', settings);
    expect([response.status, await response.json()]).toEqual([202, { eventId: 'paid', deliveries: 0, held: true }]);
    expect(await claim(store.db, tenant.entityId)).toEqual([]);
    const facts = await store.db.all('select state, transaction_hash from facts where entity_id = $1', [
      tenant.entityId,
    ]);
    expect(facts).toEqual([{ state: 'waiting', transaction_hash: HASH.toLowerCase() }]);
  });

  test('answers 429 when the entity has reached its limit of held events, also within a batch, and takes those of another', async () => {
    const [tenant, other] = [await newTenant(), await newTenant()];
    const newInstance = () => testApp(store.db, { CHAIN_RPC: '8453=http://127.0.0.1:1', ENTITY_HELD_LIMIT: '3' });
    const app = newInstance();
    const held = (n: number) => ({
      ...PAYMENT,
      eventId: `held-${n}`,
      transactionHash: `0x${String(n).padStart(64, '0')}`,
    });
    const hold = (n: number, instance = app) => call(instance, tenant, `${EVENTS}?hold=chain`, { json: held(n) });
    const statusesOf = async (numbers: readonly number[]) => {
      const body = numbers.map((n) => JSON.stringify(held(n))).join('\n');
      const headers = { 'content-type': 'application/x-ndjson' };
      const batch = await call(app, tenant, `${EVENTS}/batch?hold=chain`, { method: 'POST', body, headers });
      const { results } = (await batch.json()) as { results: { status: number; code: string | null }[] };
      return results.map(({ status }) => status);
    };
    expect(await statusesOf([1, 2])).toEqual([202, 202]);
    expect(await statusesOf([1, 2, 3, 4, 5])).toEqual([200, 200, 202, 429, 429]);
    const answer = await hold(6);
    expect(answer.headers.get('retry-after')).toBe('60');
    expect((await expectProblem(answer, 'held_limit')).detail).toContain('3 events of this entity are held');
    expect((await hold(3)).status).toBe(200);
    expect((await hold(6, newInstance())).status).toBe(429);
    expect((await call(app, tenant, EVENTS, { json: held(7) })).status).toBe(202);
    expect((await call(app, other, `${EVENTS}?hold=chain`, { json: held(8) })).status).toBe(202);
    const found = `update facts set state = 'seen' where entity_id = $1 and transaction_hash like '%1'`;
    await store.db.transaction((queries) => queries.run(found, [tenant.entityId]));
    expect((await hold(9, newInstance())).status).toBe(202);
    expect((await hold(10)).status).toBe(429);
  });

  /** PostgreSQL has no text with a NUL, and a fact keeps what its event is about as texts. */
  test.each(['transferId', 'agreementId'])(
    'accepts an event without its %s where that has a NUL, held or not, and says so',
    async (name) => {
      const tenant = await newTenant();
      const settings = { CHAIN_RPC: '8453=http://127.0.0.1:1' };
      for (const query of ['?hold=chain', '']) {
        const event = { ...PAYMENT, eventId: `paid${query.length}`, transactionHash: HASH, [name]: 'a\0b' };
        const response = await send(tenant, event, query, settings);
        expect([response.status, await response.json()]).toEqual([
          202,
          expect.objectContaining({ warning: expect.stringMatching(new RegExp(`^${name} must be .* without NUL`)) }),
        ]);
      }
      const sql = 'select transfer_id, agreement_id from facts where entity_id = $1';
      const nothing = { transfer_id: null, agreement_id: null };
      expect(await store.db.all<object>(sql, [tenant.entityId])).toEqual([nothing]);
    },
  );

  test('finds no event to take back by an id with a NUL', async () => {
    const wrong = { ...RETRACTION, retracts: { eventId: 'a\0b' } };
    const problem = await expectProblem(await send(await newTenant(), wrong), 'invalid_request');
    expect(Object.keys(messagesByName(problem))).toEqual(['retracts.eventId']);
  });

  test('names each reason why an event cannot be held', async () => {
    const tenant = await newTenant();
    const settings = { CHAIN_RPC: '1=http://127.0.0.1:1' };
    const hold = async (json: object) => {
      const problem = await expectProblem(await send(tenant, json, '?hold=chain', settings), 'invalid_request');
      return messagesByName(problem);
    };
    expect(await hold({ ...PAYMENT, transactionHash: '0x12' })).toEqual({
      transactionHash: expect.stringContaining('64 hex digits'),
      networkId: expect.stringContaining('CHAIN_RPC'),
    });
    expect(await hold({ ...RETRACTION, networkId: 1, transactionHash: HASH })).toEqual({
      hold: expect.stringContaining('must be left out'),
    });
    const problem = await expectProblem(await send(tenant, PAYMENT, '?hold=forever'), 'invalid_request');
    expect(messagesByName(problem)).toEqual({ hold: expect.stringContaining('must be one of chain') });
  });
});
