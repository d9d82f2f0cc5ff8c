import { expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import { RpcFailure } from '../../../../src/chain/rpc/failures.ts';
import type { ProblemCode } from '../../../../src/contract/problems.ts';
import { PERMISSIONS, type Permission } from '../../../../src/domain/keys/api-keys.ts';
import { call, createTenant, type Tenant, testApp } from '../../../support/api.ts';
import { FakeNetwork } from '../../../support/chain/fake-network.ts';
import { CONTRACT, NETWORK, PAYEE, PAYER, PAYER_CHECKSUMMED } from '../../../support/chain/logs.ts';
import { newPaidNetwork } from '../../../support/chain/paid-network.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { onSuiteEngine, type TestStore } from '../../../support/stores.ts';

/** Every limit and error of payments, and of the sources that find them. Those of invoices come with invoices. */

const BASE = '/api/v1/crypto';
const HASH = `0x${'a'.repeat(64)}`;
const TOO_LONG = '9'.repeat(157);
const MISTYPED = PAYER_CHECKSUMMED.replace('0x7', '0x6');
const source = { networkId: NETWORK, preset: 'erc20', contract: CONTRACT, where: { to: PAYEE } };

type Setting = { app: App; tenant: Tenant; network: FakeNetwork };

async function setUp({ db }: TestStore, settings: Record<string, string> = {}): Promise<Setting> {
  const network = new FakeNetwork();
  const app = testApp(
    db,
    { CHAIN_RPC: `${NETWORK}=https://node.example/key`, ...settings },
    { chain: network.tools(db) },
  );
  return { app, tenant: await createTenant(db), network };
}

/** A field, a request with a wrong value of it, and words of the message. */
const FIELDS: readonly [name: string, path: string, json: object | null, message: string][] = [
  ['amount', '/payments?amount=-1', null, 'must be a decimal'],
  ['amount', '/payments?amount=1e3', null, 'must be a decimal'],
  ['amount', `/payments?amount=${TOO_LONG}`, null, 'at most 156 characters'],
  ['minAmount', '/payments?minAmount=1', null, 'token'],
  ['maxAmount', '/payments?maxAmount=1', null, 'token'],
  ['state', '/payments?state=paid', null, 'must be one of'],
  ['networkId', '/payments?networkId=base', null, 'must be a whole number'],
  ['transactionHash', '/payments?transactionHash=', null, ''],
  ['q', `/payments?q=${'a'.repeat(257)}`, null, ''],
  ['limit', '/payments?limit=101', null, 'from 1 to 100'],
  ['page', '/payments?page=0', null, ''],
  ['contract', '/sources', { ...source, contract: MISTYPED }, 'has a wrong checksum'],
  ['where.to.0', '/sources', { ...source, where: { to: MISTYPED } }, 'has a wrong checksum'],
  ['minAmount', '/sources', { ...source, minAmount: '-1' }, 'must be a decimal'],
  ['minAmount', '/sources', { ...source, minAmount: 1 }, 'must be a decimal'],
  ['contract', '/sources', { ...source, contract: PAYER }, 'has no code on network'],
  ['where.to.0', '/sources/preview/recent', { ...source, where: { to: MISTYPED } }, 'has a wrong checksum'],
  ['minAmount', '/sources/preview/recent', { ...source, minAmount: '1e3' }, 'must be a decimal'],
  ['transactionHash', '/sources/preview', { networkId: NETWORK, transactionHash: '0x1' }, 'must be a transaction hash'],
];

type Prepare = (setting: Setting, store: TestStore) => Promise<unknown> | unknown;

/** A code, the settings and the state that lead to it, and the request. */
const PROBLEMS: readonly [code: ProblemCode, path: string, json: object, prepare: Prepare][] = [
  ['network_not_followed', '/sources', { ...source, networkId: 1 }, () => undefined],
  ['network_not_followed', '/sources/preview/recent', { ...source, networkId: 1 }, () => undefined],
  ['network_not_followed', '/sources/preview', { networkId: 1, transactionHash: HASH }, () => undefined],
  ['network_unavailable', '/sources', source, fail],
  ['network_unavailable', '/sources/preview/recent', source, fail],
  ['network_unavailable', '/sources/preview', { networkId: NETWORK, transactionHash: HASH }, fail],
  ['transaction_not_found', '/sources/preview', { networkId: NETWORK, transactionHash: HASH }, () => undefined],
  [
    'transaction_pending',
    '/sources/preview',
    { networkId: NETWORK, transactionHash: HASH },
    ({ network }) => network.pending.add(HASH),
  ],
  [
    'source_limit',
    '/sources',
    { ...source, fromBlock: 7 },
    ({ app, tenant }) => call(app, tenant, `${BASE}/sources`, { json: source }),
  ],
];

function fail({ network }: Setting): void {
  network.failure = new RpcFailure('unreachable');
}

const ROUTES: readonly [permission: Permission, method: string, path: string, json: object | null][] = [
  ['payments:read', 'GET', '/payments', null],
  ['payments:read', 'GET', `/payments?q=${HASH}`, null],
  ['payments:read', 'GET', `/payments/pay_${'a'.repeat(26)}`, null],
  ['deliveries:read', 'GET', '/chains', null],
  ['deliveries:read', 'GET', '/facts', null],
  ['deliveries:read', 'GET', `/facts/fct_${'a'.repeat(26)}`, null],
  ['webhooks:read', 'GET', '/sources', null],
  ['webhooks:read', 'GET', `/sources/src_${'0'.repeat(32)}`, null],
  ['webhooks:write', 'POST', '/sources', source],
  ['webhooks:write', 'POST', '/sources/preview', { networkId: NETWORK, transactionHash: HASH }],
  ['webhooks:write', 'POST', '/sources/preview/recent', source],
  ['webhooks:write', 'PATCH', `/sources/src_${'0'.repeat(32)}`, { name: 'Shop' }],
  ['webhooks:write', 'DELETE', `/sources/src_${'0'.repeat(32)}`, null],
];

onSuiteEngine('limits and errors of payments and sources', (store) => {
  test.each(FIELDS)('400 names %s in %s', async (name, path, json, message) => {
    const { app, tenant } = await setUp(store);
    const response = await call(app, tenant, BASE + path, json === null ? {} : { json });
    const errors = messagesByName(await expectProblem(response, 'invalid_request'));
    expect(Object.keys(errors)).toEqual([name]);
    expect(errors[name]).toContain(message);
  });

  test.each(PROBLEMS)('%s for %s', async (code, path, json, prepare) => {
    const setting = await setUp(store, { ENTITY_SOURCE_LIMIT: '1' });
    await prepare(setting, store);
    const problem = await expectProblem(await call(setting.app, setting.tenant, BASE + path, { json }), code);
    expect(problem.detail).not.toContain('node.example');
  });

  test.each(ROUTES)(
    '403 without %s for %s %s, even with every other permission',
    async (permission, method, path, json) => {
      const { app, network } = await setUp(store);
      const others = PERMISSIONS.filter((each) => each !== permission);
      const tenant = await createTenant(store.db, others);
      const options = { method, ...(json === null ? {} : { json }) };
      const problem = await expectProblem(await call(app, tenant, BASE + path, options), 'missing_permission');
      expect(problem).toMatchObject({ permission });
      expect(network.calls).toEqual([]);
    },
  );

  test('404 for the payment, fact and source of another entity, as for an id that nobody has', async () => {
    const { app, tenant } = await setUp(store);
    const stranger = await createTenant(store.db);
    const { payment, pay } = newPaidNetwork(store.db, tenant.entityId);
    const fact = payment(10);
    await pay(20, [fact]);
    const created = await call(app, tenant, `${BASE}/sources`, { json: source });
    const { sourceId } = (await created.json()) as { sourceId: string };
    const foreign = [`/payments/pay_${fact.factId.slice(4)}`, `/facts/${fact.factId}`, `/sources/${sourceId}`];
    const unknown = [
      `/payments/pay_${'z'.repeat(26)}`,
      `/facts/fct_${'z'.repeat(26)}`,
      `/sources/src_${'0'.repeat(32)}`,
    ];
    for (const [place, path] of foreign.entries()) {
      expect((await call(app, tenant, BASE + path)).status).toBe(200);
      const theirs = await expectProblem(await call(app, stranger, BASE + path), 'not_found');
      const nobodys = await expectProblem(await call(app, stranger, BASE + unknown[place]), 'not_found');
      expect(theirs.detail).toBe(nobodys.detail);
    }
    expect(await (await call(app, stranger, `${BASE}/payments?q=${fact.transactionHash}`)).json()).toMatchObject({
      totalResults: 0,
    });
  });
});
