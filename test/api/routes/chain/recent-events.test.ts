import { expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import { RpcFailure } from '../../../../src/chain/rpc/failures.ts';
import type { SourceRecentEvents } from '../../../../src/contract/chain/sources.ts';
import { call, createTenant, type Tenant, testApp } from '../../../support/api.ts';
import { FakeNetwork } from '../../../support/chain/fake-network.ts';
import {
  CONTRACT,
  NETWORK,
  PAYEE,
  PAYEE_CHECKSUMMED,
  PAYER,
  PAYER_CHECKSUMMED,
  presetLog,
} from '../../../support/chain/logs.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { onSuiteEngine, type TestStore } from '../../../support/stores.ts';

const RECENT = '/api/v1/crypto/sources/preview/recent';
const SETTINGS = { CHAIN_RPC: `${NETWORK}=https://node.example/secret-key` };
const HEAD = 50_000;
const erc20 = { networkId: NETWORK, preset: 'erc20', contract: CONTRACT, where: { to: PAYEE_CHECKSUMMED } };

type Setting = { tenant: Tenant; app: App; network: FakeNetwork; pay: (block: number, value?: bigint) => void };

async function setUp({ db }: TestStore): Promise<Setting> {
  const network = new FakeNetwork();
  network.head = HEAD;
  const tenant = await createTenant(db);
  let paid = 0;
  return {
    tenant,
    network,
    app: testApp(db, SETTINGS, { chain: network.tools(db) }),
    pay: (blockNumber, value = 25_000_000n) => {
      const place = { blockNumber, blockHash: hashOf(blockNumber), blockS: 1_763_168_400 + blockNumber };
      network.addTransaction(hashOf(++paid), [presetLog('erc20', [PAYER, PAYEE, value], place)]);
    },
  };
}

const hashOf = (number: number) => `0x${number.toString(16).padStart(64, 'c')}`;
const ask = ({ app, tenant }: Setting, json: object = erc20) => call(app, tenant, RECENT, { json });

async function recentIn(setting: Setting, json?: object): Promise<SourceRecentEvents> {
  const response = await ask(setting, json);
  expect(response.status).toBe(200);
  return (await response.json()) as SourceRecentEvents;
}

const logCalls = ({ network }: Setting) => network.calls.filter((method) => method === 'eth_getLogs').length;

onSuiteEngine('the newest events of a source that does not exist', (store) => {
  test('200 with the payments that it would have reported, newest first, and nothing is stored', async () => {
    const setting = await setUp(store);
    setting.pay(HEAD - 900);
    setting.pay(HEAD - 3, 1_500_000n);
    const recent = await recentIn(setting);
    expect(recent).toMatchObject({ networkId: NETWORK, toBlock: HEAD, found: 2 });
    expect(recent.events.map(({ blockNumber }) => blockNumber)).toEqual([HEAD - 3, HEAD - 900]);
    expect(recent.events[0]).toEqual({
      factId: expect.stringMatching(/^fct_[a-z2-7]{26}$/),
      kind: 'Transfer',
      events: ['TransferProcessed', 'TransferFinalized'],
      transactionHash: hashOf(2),
      blockNumber: HEAD - 3,
      dateBlock: 1_763_168_400 + HEAD - 3,
      logIndex: 0,
      contract: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      isDust: false,
      fields: {
        payer: PAYER_CHECKSUMMED,
        payee: PAYEE_CHECKSUMMED,
        amount: '1.5',
        amountBase: '1500000',
        token: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      },
    });
    for (const table of ['chain_tokens', 'facts', 'sources']) {
      const stored = await store.db.get<{ n: number | string }>(`select count(*) as n from ${table}`);
      expect([table, Number(stored?.n)]).toEqual([table, 0]);
    }
  });

  test('shows ten at most, counts the others, and stops asking once it has them', async () => {
    const setting = await setUp(store);
    for (let block = 0; block < 14; block++) setting.pay(HEAD - block);
    const { found, events, fromBlock } = await recentIn(setting);
    expect([found, events.length, events[0]?.blockNumber, fromBlock]).toEqual([14, 10, HEAD, HEAD - 999]);
    expect(logCalls(setting)).toBe(1);
  });

  test('looks back over 22,000 blocks in four calls if there are few payments', async () => {
    const setting = await setUp(store);
    setting.pay(HEAD - 21_999);
    setting.pay(HEAD - 22_000);
    const { found, fromBlock } = await recentIn(setting);
    expect([found, fromBlock, logCalls(setting)]).toEqual([1, HEAD - 21_999, 4]);
  });

  test('asks for shorter ranges if the node refuses, and says which blocks it saw', async () => {
    const setting = await setUp(store);
    setting.network.mostBlocks = 100;
    setting.pay(HEAD - 250);
    setting.pay(HEAD - 300);
    const { found, fromBlock } = await recentIn(setting);
    expect([found, fromBlock, logCalls(setting)]).toEqual([1, HEAD - 299, 4]);
  });

  test('ends at the first block of a short chain, and with no payments has none', async () => {
    const setting = await setUp(store);
    setting.network.head = 40;
    expect(await recentIn(setting)).toEqual({ networkId: NETWORK, fromBlock: 0, toBlock: 40, found: 0, events: [] });
    expect(logCalls(setting)).toBe(1);
  });

  test('decodes few logs of a busy contract, and says from which block on', async () => {
    const setting = await setUp(store);
    for (let paid = 0; paid < 130; paid++) setting.pay(HEAD - 129 + paid);
    const { found, fromBlock, events } = await recentIn(setting);
    expect([found, fromBlock, events.length]).toEqual([100, HEAD - 99, 10]);
  });

  test('marks an amount below minAmount as dust, which leads to no event', async () => {
    const setting = await setUp(store);
    setting.pay(HEAD, 10n);
    setting.pay(HEAD - 1);
    const { events } = await recentIn(setting, { ...erc20, minAmount: '0.01' });
    expect(events.map(({ isDust, events: kinds }) => [isDust, kinds.length])).toEqual([
      [true, 0],
      [false, 2],
    ]);
  });

  test('503 with a text of its own if the node refuses logs of any range, and if no node responds', async () => {
    const setting = await setUp(store);
    setting.network.mostBlocks = 0;
    const refused = await expectProblem(await ask(setting), 'network_unavailable');
    expect(refused.detail).toContain('refuse to return logs, even of few blocks');
    expect(logCalls(setting)).toBe(4);
    setting.network.failure = new RpcFailure('timeout');
    const silent = await expectProblem(await ask(setting), 'network_unavailable');
    expect(silent.detail).not.toContain('secret-key');
    expect(silent.detail).toContain('No node of network');
  });

  test('returns what it has read if the node fails later', async () => {
    const setting = await setUp(store);
    setting.pay(HEAD);
    const answer = setting.network.call;
    let calls = 0;
    const call: FakeNetwork['call'] = (networkId, method, params) => {
      if (method === 'eth_getLogs' && ++calls > 1) return Promise.reject(new RpcFailure('timeout'));
      return answer(networkId, method, params);
    };
    Object.defineProperty(setting.network, 'call', { value: call });
    const app = testApp(store.db, SETTINGS, { chain: setting.network.tools(store.db) });
    expect(await recentIn({ ...setting, app })).toMatchObject({ found: 1, fromBlock: HEAD - 999 });
  });

  test('400 by field, 409 for a network that is not followed, and no node is asked', async () => {
    const setting = await setUp(store);
    const errors = async (json: object) =>
      messagesByName(await expectProblem(await ask(setting, json), 'invalid_request'));
    expect(await errors({ ...erc20, where: {} })).toEqual({ where: expect.stringContaining('must name') });
    expect(await errors({ ...erc20, contract: undefined })).toMatchObject({ contract: expect.any(String) });
    expect(await errors({ ...erc20, where: { to: PAYER_CHECKSUMMED.replace('0x7', '0x6') } })).toMatchObject({
      'where.to.0': expect.stringContaining('has a wrong checksum'),
    });
    expect(await errors({ ...erc20, fromBlock: 5 })).toMatchObject({ fromBlock: expect.any(String) });
    await expectProblem(await ask(setting, { ...erc20, networkId: 1 }), 'network_not_followed');
    await expectProblem(await call(testApp(store.db), setting.tenant, RECENT, { json: erc20 }), 'network_not_followed');
    expect(setting.network.calls).toEqual([]);
  });
});
