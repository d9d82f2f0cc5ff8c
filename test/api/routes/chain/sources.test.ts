import { expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import { RpcFailure } from '../../../../src/chain/rpc/failures.ts';
import type { Source, SourceList, SourcePreview } from '../../../../src/contract/chain/sources.ts';
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
  TOKEN,
} from '../../../support/chain/logs.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { onSuiteEngine, type TestStore } from '../../../support/stores.ts';

const SOURCES = '/api/v1/crypto/sources';
const HASH = `0x${'a'.repeat(64)}`;
const SETTINGS = { CHAIN_RPC: `${NETWORK}=https://node.example/secret-key` };

const erc20 = { networkId: NETWORK, preset: 'erc20', contract: CONTRACT, where: { to: PAYEE_CHECKSUMMED } };
const custom = {
  networkId: NETWORK,
  contract: CONTRACT,
  abi: 'event Paid(address indexed payer, uint256 amount, bool ok)',
  event: 'Transfer',
};
/** One digit of it is another one. */
const MISTYPED = PAYER_CHECKSUMMED.replace('0x7', '0x6');

type Setting = { tenant: Tenant; app: App; network: FakeNetwork; post: (json: object) => Promise<Response> };

async function setUp({ db }: TestStore, settings: Record<string, string> = {}): Promise<Setting> {
  const network = new FakeNetwork();
  const tenant = await createTenant(db);
  const app = testApp(db, { ...SETTINGS, ...settings }, { chain: network.tools(db) });
  return { tenant, app, network, post: (json) => call(app, tenant, SOURCES, { json }) };
}

async function created(response: Response, status = 201): Promise<Source> {
  expect(response.status).toBe(status);
  return (await response.json()) as Source;
}

const errorsOf = async (response: Response) => messagesByName(await expectProblem(response, 'invalid_request'));

onSuiteEngine('sources', (store) => {
  test('201 with the source, which reads from the next block on', async () => {
    const { tenant, app, post } = await setUp(store);
    const source = await created(await post(erc20));
    expect(source).toEqual({
      sourceId: expect.stringMatching(/^src_[0-9a-f]{32}$/),
      name: null,
      networkId: NETWORK,
      preset: 'erc20',
      contract: CONTRACT,
      abi: null,
      event: null,
      where: { to: [PAYEE] },
      fields: {},
      minAmount: null,
      addressBook: null,
      addressCount: 0,
      isForInvoices: false,
      fromBlock: 1_001,
      deliverHistory: false,
      revision: 1,
      appliesFromBlock: 1_001,
      state: 'live',
      pausedReason: null,
      blocksLeft: 0,
      logRequests: 0,
      logsReceived: 0,
      dateCreated: expect.any(Number),
    });
    const read = await call(app, tenant, `${SOURCES}/${source.sourceId}`);
    expect(await read.json()).toEqual(source);
  });

  test('200 with the source that exists, for the same definition written in another way', async () => {
    const { tenant, app, network, post } = await setUp(store);
    const first = await created(await post({ ...custom, where: { ok: true, payer: [PAYEE, PAYER] } }));
    network.head = 2_000;
    const again = {
      ...custom,
      abi: ` ${custom.abi.replace('uint256', 'uint')} ;`,
      contract: CONTRACT.toUpperCase().replace('0X', '0x'),
      where: { payer: [PAYER_CHECKSUMMED, PAYEE_CHECKSUMMED], ok: [true] },
      fromBlock: 'latest',
    };
    expect(await created(await post(again), 200)).toEqual(first);
    expect((await created(await post({ ...again, deliverHistory: true }))).sourceId).not.toBe(first.sourceId);
    const list = (await (await call(app, tenant, SOURCES)).json()) as SourceList;
    expect(list.totalResults).toBe(2);
  });

  test('catches up from a block in the past', async () => {
    const { post } = await setUp(store);
    expect(await created(await post({ ...erc20, fromBlock: 10 }))).toMatchObject({
      fromBlock: 10,
      state: 'catching_up',
      blocksLeft: null,
    });
    expect(await created(await post({ ...erc20, fromBlock: 1_000 }))).toMatchObject({ fromBlock: 1_000 });
  });

  test('400 for a block in the future, naming the newest', async () => {
    const { post } = await setUp(store);
    expect(await errorsOf(await post({ ...erc20, fromBlock: 1_001 }))).toEqual({
      fromBlock: 'must be at most 1000, which is the newest block now, or "latest" for the blocks from now on',
    });
  });

  test('400 for an address without code, beside a block in the future', async () => {
    const { post } = await setUp(store);
    expect(await errorsOf(await post({ ...erc20, contract: PAYER, fromBlock: 5_000 }))).toEqual({
      contract: `has no code on network ${NETWORK}: no contract is there`,
      fromBlock: expect.stringContaining('must be at most 1000'),
    });
  });

  test('400 for addresses with a wrong checksum, each by its name', async () => {
    const { post } = await setUp(store);
    const fields = { amount: { from: 'amount', token: MISTYPED } };
    expect(
      await errorsOf(await post({ ...custom, contract: MISTYPED, where: { payer: [PAYER, MISTYPED] }, fields })),
    ).toEqual({
      contract: expect.stringContaining('has a wrong checksum'),
      'where.payer.1': expect.stringContaining('has a wrong checksum'),
      'fields.amount.token': expect.stringContaining('has a wrong checksum'),
    });
  });

  test('400 for an ABI that does not parse, and for parameters that the event does not have', async () => {
    const { post } = await setUp(store);
    expect(await errorsOf(await post({ ...custom, abi: 'event Paid(Money m)' }))).toEqual({
      abi: expect.stringContaining('has the type "Money", which is not supported'),
    });
    expect(await errorsOf(await post({ ...custom, where: { payee: PAYEE }, fields: { memo: 'note' } }))).toEqual({
      'where.payee': 'is not a parameter of the event; its parameters are payer, amount, ok',
      'fields.memo': '"note" is not a parameter of the event; its parameters are payer, amount, ok',
    });
  });

  test.each<[string, object, string, string]>([
    ['no network', { networkId: undefined }, 'networkId', 'is required; it must be a network id'],
    [
      'a network that is no number',
      { networkId: '8453' },
      'networkId',
      'must be a network id: a whole number from 0 to',
    ],
    ['no contract', { contract: undefined }, 'contract', 'must be an address'],
    ['a contract that is no address', { contract: '0x12' }, 'contract', 'must be an address: 0x and 40 hex digits'],
    [
      'an unknown preset',
      { preset: 'erc721' },
      'preset',
      'must be one of erc20, trc20, native, request-network, loop, superfluid',
    ],
    ['a preset with an ABI', { abi: custom.abi }, 'abi', 'is known to the preset; leave it out'],
    ['a preset with a kind', { event: 'Transfer' }, 'event', 'is known to the preset; leave it out'],
    ['neither a preset nor an ABI', { preset: undefined, event: 'Transfer' }, 'abi', 'is required without a preset'],
    ['an ABI without a kind', { preset: undefined, abi: custom.abi }, 'event', 'is required without a preset'],
    ['an ABI that is too long', { preset: undefined, abi: 'x'.repeat(2_001) }, 'abi', 'at most 2000 characters'],
    ['a block below zero', { fromBlock: -1 }, 'fromBlock', 'must be the number of a block, or "latest"'],
    ['a block that is a text', { fromBlock: '5' }, 'fromBlock', 'must be the number of a block, or "latest"'],
    ['a text for true', { deliverHistory: 'yes' }, 'deliverHistory', 'must be true or false'],
    ['where as a list', { where: [PAYEE] }, 'where', 'must be an object of parameter names'],
    ['an empty list', { where: { to: [] } }, 'where.to', 'must be a value or a list of 1 to 1000 values'],
    ['a list with an object', { where: { to: [{}] } }, 'where.to', 'must be a value or a list of 1 to 1000 values'],
    ['a text in where that is too long', { where: { to: 'x'.repeat(1_025) } }, 'where.to', 'at most 1024 characters'],
    ['half a character', { where: { to: '\ud800' } }, 'where.to', 'must be a'],
    ['too many values', { where: { to: Array(1_001).fill(PAYEE) } }, 'where.to', 'a list of 1 to 1000 values'],
    [
      'too many parameters',
      { where: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`p${n}`, 1])) },
      'where',
      'at most 20',
    ],
    [
      'too many fields',
      { fields: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`f${n}`, 'to'])) },
      'fields',
      'at most 50',
    ],
    ['a fraction in where', { where: { to: 1.5 } }, 'where.to', 'must be a value or a list of 1 to 1000 values'],
    ['null in where', { where: { to: null } }, 'where.to', 'must be a value or a list of 1 to 1000 values'],
    ['a name that is none', { where: { 'a b': 1 } }, 'where.a b', 'must be the name of a parameter'],
    ['fields as a list', { fields: [] }, 'fields', 'must be an object of payload fields'],
    ['a field from a number', { fields: { x: 5 } }, 'fields.x', 'must be the name of a parameter'],
    ['an amount without a token', { fields: { x: { from: 'value' } } }, 'fields.x', 'must be the name of a parameter'],
    ['a constant that is an object', { fields: { x: { is: {} } } }, 'fields.x', 'must be the name of a parameter'],
    [
      'a constant that is too long',
      { fields: { x: { is: 'x'.repeat(257) } } },
      'fields.x.is',
      'at most 256 characters',
    ],
    ['a field name that is none', { fields: { 'a b': 'to' } }, 'fields.a b', 'must be the name of a payload field'],
    ['an unknown field', { fromblock: 5 }, 'fromblock', 'did you mean fromBlock?'],
  ])('400 for %s', async (_, change, name, message) => {
    const { post, network } = await setUp(store);
    expect((await errorsOf(await post({ ...erc20, ...change })))[name]).toContain(message);
    expect(network.calls).toEqual([]);
  });

  test.each(['TransferCreated', 'LatePayment', 'EventRetracted', 'transfer', 'Refund'])(
    '400 for the kind %s, which no log proves or no one knows',
    async (event) => {
      const { post } = await setUp(store);
      expect((await errorsOf(await post({ ...custom, event }))).event).toContain('are never in a log');
    },
  );

  test('takes the kinds that logs prove, and those of EXTRA_EVENTS', async () => {
    const { post } = await setUp(store, { EXTRA_EVENTS: 'Refund' });
    const kinds = ['Transfer', 'AgreementSignedUp', 'AgreementCancelled', 'ScheduledAgreementCancel'];
    for (const event of [...kinds, 'TransferProcessed', 'TransferFinalized', 'Refund']) {
      expect(await created(await post({ ...custom, event }))).toMatchObject({ event });
    }
  });

  test('409 network_not_followed names the setting, for a network without a node and without any network', async () => {
    const { app, tenant, post } = await setUp(store);
    const problem = await expectProblem(await post({ ...erc20, networkId: 1 }), 'network_not_followed');
    expect(problem.detail).toContain('CHAIN_RPC');
    const without = testApp(store.db);
    for (const [path, json] of [
      [SOURCES, erc20],
      [`${SOURCES}/preview`, { networkId: NETWORK, transactionHash: HASH }],
    ] as const) {
      await expectProblem(await call(without, tenant, path, { json }), 'network_not_followed');
    }
    await expectProblem(
      await call(app, tenant, `${SOURCES}/preview`, { json: { networkId: 1, transactionHash: HASH } }),
      'network_not_followed',
    );
  });

  test.each([
    new RpcFailure('unreachable'),
    new RpcFailure('timeout'),
    new RpcFailure('rate_limited', { retryAfterMs: 5 }),
    new RpcFailure('garbage'),
    new RpcFailure('rpc_error', { code: -32_000 }),
  ])('503 while no node gives a usable response: %s', async (failure) => {
    const { tenant, app, network, post } = await setUp(store);
    network.failure = failure;
    const response = await post(erc20);
    expect(response.headers.get('retry-after')).toBe('5');
    await expectProblem(response, 'network_unavailable');
    expect(((await (await call(app, tenant, SOURCES)).json()) as SourceList).totalResults).toBe(0);
  });

  test('409 beyond ENTITY_SOURCE_LIMIT, also for those that come at once, and not for another entity', async () => {
    const { app, post } = await setUp(store, { ENTITY_SOURCE_LIMIT: '3' });
    const responses = [];
    for (let round = 0; round < 3; round++) {
      const both = [1, 2].map((n) => post({ ...erc20, fromBlock: round * 2 + n }));
      responses.push(...(await Promise.all(both)));
    }
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409, 409]);
    const problem = await expectProblem(await post(erc20), 'source_limit');
    expect(problem.detail).toContain('at most 3 sources');
    // One that exists is no further one.
    const [first] = await Promise.all(responses.filter(({ status }) => status === 201).map((each) => each.json()));
    await created(await post({ ...erc20, fromBlock: (first as Source).fromBlock }), 200);
    await created(await call(app, await createTenant(store.db), SOURCES, { json: erc20 }));
  });

  test('429 for more than two requests of an entity that ask the network at once', async () => {
    const { post } = await setUp(store);
    const responses = await Promise.all([1, 2, 3].map((fromBlock) => post({ ...erc20, fromBlock })));
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 201, 429]);
  });

  test('lists by network, contract and state, in order, page by page', async () => {
    const { tenant, app, post } = await setUp(store);
    const bodies = [erc20, { ...erc20, fromBlock: 5 }, { ...erc20, contract: TOKEN, fromBlock: 7 }];
    const ids: string[] = [];
    for (const body of bodies) ids.push((await created(await post(body))).sourceId);
    const listed = async (query: string) => {
      const { totalResults, sources } = (await (await call(app, tenant, `${SOURCES}?${query}`)).json()) as SourceList;
      return [totalResults, ...sources.map(({ sourceId }) => ids.indexOf(sourceId))];
    };
    expect(await listed('sortDir=asc')).toEqual([3, 0, 1, 2]);
    expect(await listed('limit=2&page=2')).toEqual([3, 0]);
    expect(await listed(`networkId=${NETWORK}`)).toEqual([3, 2, 1, 0]);
    expect(await listed('networkId=1')).toEqual([0]);
    expect(await listed(`contract=${TOKEN.toUpperCase().replace('0X', '0x')}`)).toEqual([1, 2]);
    expect(await listed('state=live')).toEqual([1, 0]);
    expect(await listed('state=catching_up')).toEqual([2, 2, 1]);
    expect(await listed('state=paused')).toEqual([0]);
    await store.db.transaction((queries) =>
      queries.run(`update sources set paused_at_ms = 1, paused_reason = 'Too many logs.' where id = $1`, [
        ids[1] ?? '',
      ]),
    );
    expect(await listed('state=paused')).toEqual([1, 1]);
    expect(await listed('state=catching_up')).toEqual([1, 2]);
  });

  test('204 when deleted, then 404, and the audit has both', async () => {
    const { tenant, app, post } = await setUp(store);
    const { sourceId } = await created(await post(erc20));
    const path = `${SOURCES}/${sourceId}`;
    const stranger = await createTenant(store.db);
    for (const method of ['GET', 'DELETE'])
      await expectProblem(await call(app, stranger, path, { method }), 'not_found');
    expect((await call(app, tenant, path, { method: 'DELETE' })).status).toBe(204);
    for (const method of ['GET', 'DELETE']) await expectProblem(await call(app, tenant, path, { method }), 'not_found');
    const audit = await call(app, tenant, `/api/v1/crypto/audit?target=${sourceId}&sortDir=asc`);
    const { audit: entries } = (await audit.json()) as { audit: { action: string; before: object; after: object }[] };
    expect(entries).toMatchObject([
      { action: 'source.created', before: null, after: { contract: CONTRACT, fromBlock: 1_001 } },
      { action: 'source.deleted', before: { contract: CONTRACT, fromBlock: 1_001 }, after: null },
    ]);
  });
});

onSuiteEngine('the preview of a transaction', (store) => {
  const transfer = (value: bigint, logIndex: number) => presetLog('erc20', [PAYER, PAYEE, value], { logIndex });

  async function previewIn({ app, tenant }: Setting, json: object): Promise<Response> {
    return call(app, tenant, `${SOURCES}/preview`, { json: { networkId: NETWORK, transactionHash: HASH, ...json } });
  }

  test('shows the events of a source that does not exist, and why the other logs lead to none', async () => {
    const setting = await setUp(store);
    setting.network.addTransaction(HASH, [
      presetLog('erc20', [PAYEE, PAYER, 5n], { logIndex: 3 }),
      transfer(1_500_000n, 4),
      { ...transfer(5n, 6), address: TOKEN },
      presetLog('loop', [PAYER, 'x', true, true, TOKEN, PAYER, 1n, 0n, '0x'], { logIndex: 7 }),
      { ...transfer(5n, 8), data: '0x' },
    ]);
    const response = await previewIn(setting, erc20);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      networkId: NETWORK,
      transactionHash: HASH,
      blockNumber: 100,
      isSuccess: true,
      logs: 5,
      events: [
        {
          factId: expect.stringMatching(/^fct_[a-z2-7]{26}$/),
          sourceId: null,
          kind: 'Transfer',
          events: ['TransferProcessed', 'TransferFinalized'],
          isDust: false,
          logIndex: 4,
          contract: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
          fields: {
            payer: PAYER_CHECKSUMMED,
            payee: PAYEE_CHECKSUMMED,
            amount: '1.5',
            amountBase: '1500000',
            token: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
          },
        },
      ],
      others: [
        { logIndex: 3, reason: `Its to is ${PAYER_CHECKSUMMED}, and \`where\` does not list this value.` },
        { logIndex: 6, reason: 'The log is of another contract.' },
        { logIndex: 7, reason: 'It is of another event than Transfer.' },
        { logIndex: 8, reason: expect.stringContaining('It does not fit the declaration of Transfer') },
      ].map((each) => ({ ...each, contract: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/) })),
    });
    const stored = await store.db.get<{ n: number | string }>('select count(*) as n from chain_tokens');
    expect(Number(stored?.n)).toBe(0);
  });

  test('has no event for a transfer that moves nothing', async () => {
    const setting = await setUp(store);
    setting.network.addTransaction(HASH, [transfer(0n, 5)]);
    const { events } = (await (await previewIn(setting, erc20)).json()) as SourcePreview;
    expect(events).toMatchObject([{ logIndex: 5, isDust: true, events: [], fields: { amount: '0' } }]);
  });

  test('of a token that does not say its decimals has amountBase only', async () => {
    const setting = await setUp(store);
    setting.network.decimals.clear();
    setting.network.addTransaction(HASH, [transfer(5n, 0)]);
    const { events } = (await (await previewIn(setting, erc20)).json()) as SourcePreview;
    expect(events.map(({ fields }) => fields)).toMatchObject([{ amountBase: '5' }]);
    expect(events[0]?.fields).not.toHaveProperty('amount');
  });

  test('with a network and a hash alone shows what the sources of the entity make of it', async () => {
    const setting = await setUp(store);
    const { sourceId } = await created(await setting.post({ ...erc20, fields: { currency: { is: 'USDC' } } }));
    await created(await call(setting.app, await createTenant(store.db), SOURCES, { json: { ...erc20, fromBlock: 3 } }));
    setting.network.addTransaction(HASH, [transfer(5n, 0), { ...transfer(5n, 1), address: TOKEN }]);
    const preview = (await (await previewIn(setting, {})).json()) as SourcePreview;
    expect(preview.events).toMatchObject([{ sourceId, logIndex: 0, fields: { currency: 'USDC' } }]);
    expect(preview.others).toMatchObject([{ logIndex: 1, reason: 'No source takes it.' }]);
  });

  test('of a transaction that failed has no logs', async () => {
    const setting = await setUp(store);
    setting.network.addTransaction(HASH, []);
    expect(await (await previewIn(setting, erc20)).json()).toMatchObject({ isSuccess: false, logs: 0, events: [] });
  });

  test('409 for one that is in no block yet, 404 for an unknown one, 503 while no node responds', async () => {
    const setting = await setUp(store);
    setting.network.pending.add(HASH);
    await expectProblem(await previewIn(setting, erc20), 'transaction_pending');
    setting.network.pending.clear();
    await expectProblem(await previewIn(setting, erc20), 'transaction_not_found');
    setting.network.failure = new RpcFailure('timeout');
    await expectProblem(await previewIn(setting, erc20), 'network_unavailable');
  });

  test('400 for what is wrong with it', async () => {
    const setting = await setUp(store);
    const errors = async (json: object) => errorsOf(await previewIn(setting, json));
    expect(await errors({ transactionHash: '0x12' })).toEqual({
      transactionHash: 'must be a transaction hash: 0x and 64 hex digits',
    });
    expect(await errors({ preset: 'erc20', where: { to: PAYEE } })).toEqual({
      contract: 'is required with preset, where; leave all of them out to try the sources that exist',
    });
    expect(await errors({ contract: CONTRACT })).toMatchObject({ abi: expect.any(String), event: expect.any(String) });
    expect(await errors({ ...erc20, fromBlock: 5 })).toMatchObject({
      fromBlock: expect.stringContaining('is not a known'),
    });
    expect(await errors({ ...erc20, where: { to: MISTYPED } })).toEqual({
      'where.to.0': expect.stringContaining('has a wrong checksum'),
    });
    expect(setting.network.calls).toEqual([]);
  });
});
