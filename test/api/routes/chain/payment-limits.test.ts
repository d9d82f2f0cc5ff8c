import { expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import { RpcFailure } from '../../../../src/chain/rpc/failures.ts';
import type { ProblemCode } from '../../../../src/contract/problems.ts';
import { call, createTenant, type Tenant, testApp } from '../../../support/api.ts';
import { FakeNetwork } from '../../../support/chain/fake-network.ts';
import { CONTRACT, NETWORK, PAYEE, PAYER, PAYER_CHECKSUMMED } from '../../../support/chain/logs.ts';
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
});
