import { expect, test } from 'bun:test';
import { NetworkTools } from '../../../../src/chain/network-tools.ts';
import { associatedAccount } from '../../../../src/chain/solana/decode/associated-account.ts';
import { SolanaTools } from '../../../../src/chain/solana/source-tools.ts';
import type { FactList } from '../../../../src/contract/chain/facts.ts';
import type { Source, SourceList, SourcePreview, SourceRecentEvents } from '../../../../src/contract/chain/sources.ts';
import { call, createTenant, testApp } from '../../../support/api.ts';
import { FakeNetwork } from '../../../support/chain/fake-network.ts';
import type { Cluster } from '../../../support/chain/solana/cluster.ts';
import { FakeNode } from '../../../support/chain/solana/fake-node.ts';
import { MINT, newShops, TOKEN_PROGRAM } from '../../../support/chain/solana/shops.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { seededRandom } from '../../../support/random.ts';
import { onSuiteEngine, type TestStore } from '../../../support/stores.ts';

const SOURCES = '/api/v1/crypto/sources';
const HASH = `0x${'a'.repeat(64)}`;
const model = newShops(7, 2);
const SHOP = model.shops[0]?.sol.key ?? '';
const OTHER = model.shops[1]?.sol.key ?? '';
const TILL = associatedAccount(SHOP, MINT, TOKEN_PROGRAM);
const NEW_WALLET = 'Ekw5L3CvrUAPynKH1K43w3Rn7p3xAGWN62Bmku6fefHC';

const spl = { networkId: 900, preset: 'spl', contract: MINT, where: { to: [SHOP] } };

async function setUp({ db }: TestStore) {
  const { cluster, accounts } = model;
  const node = new FakeNode(cluster, accounts, seededRandom(1));
  const ask = async (_: number, method: string, params: readonly unknown[]) => {
    const body = (await node.exchange({ id: 1, method, params })) as { result?: unknown };
    return body.result ?? null;
  };
  const logs = new FakeNetwork(8453).tools(db);
  const chain = new NetworkTools(logs, new Map([[900, new SolanaTools({ call: ask })]]), [900, 8453]);
  const tenant = await createTenant(db);
  const app = testApp(db, { CHAIN_RPC: '900=https://node.example' }, { chain });
  const send = (path: string, json: object, method = 'POST') => call(app, tenant, path, { method, json });
  const read = async <Body>(path: string) => (await (await call(app, tenant, path)).json()) as Body;
  return { cluster, tenant, send, read };
}

const errorsOf = async (response: Response) => messagesByName(await expectProblem(response, 'invalid_request'));

function pay(cluster: Cluster) {
  const payment = model.pay(0, 25_000_000n);
  const { slot } = cluster.add([payment]);
  return { signature: payment.signature, slot };
}

onSuiteEngine('sources on Solana', (store) => {
  test('are created for a wallet and a token, and are the same source again', async () => {
    const { send, read } = await setUp(store);
    const response = await send(SOURCES, spl);
    expect(response.status).toBe(201);
    const source = (await response.json()) as Source;
    expect(source).toMatchObject({ preset: 'spl', contract: MINT, where: { to: [SHOP] }, abi: null });
    expect((await send(SOURCES, { ...spl, where: { to: SHOP } })).status).toBe(200);
    expect(await read<SourceList>(`${SOURCES}?contract=${MINT}`)).toMatchObject({ totalResults: 1 });
  });

  test('store the associated account of each wallet', async () => {
    const { send } = await setUp(store);
    const { sourceId } = (await (await send(SOURCES, spl)).json()) as Source;
    const row = await store.db.get<{ topics: string }>('select topics from sources where id = $1', [sourceId]);
    expect(JSON.parse(row?.topics ?? '')).toEqual([[SHOP], [TILL]]);
  });

  test('read SOL without a contract', async () => {
    const { send } = await setUp(store);
    const response = await send(SOURCES, { networkId: 900, preset: 'native', where: { to: [SHOP] } });
    expect(response.status).toBe(201);
    expect((await response.json()) as Source).toMatchObject({ contract: 'native' });
  });

  test('take a wallet that does not exist yet', async () => {
    const { send } = await setUp(store);
    expect((await send(SOURCES, { ...spl, where: { to: [NEW_WALLET] } })).status).toBe(201);
  });

  test('get other wallets by an update', async () => {
    const { send } = await setUp(store);
    const { sourceId } = (await (await send(SOURCES, spl)).json()) as Source;
    const changed = await send(`${SOURCES}/${sourceId}`, { where: { to: [SHOP, OTHER] } }, 'PATCH');
    expect(changed.status).toBe(200);
    expect(((await changed.json()) as Source).where).toEqual({ to: [SHOP, OTHER].sort() });
  });

  test.each([
    [{ contract: 'EPjF' }, 'contract', 'must be a base58 address of 32 bytes, as in EPjF'],
    [{ contract: OTHER }, 'contract', 'is not a token on network 900: no mint is at this address'],
    [{ contract: undefined }, 'contract', 'must be an address of a contract'],
    [{ where: { to: [TILL] } }, 'where.to', `${TILL} is a token account; name the wallet that owns it, ${SHOP}`],
    [{ where: { to: [MINT] } }, 'where.to', `${MINT} is a token`],
    [{ where: { to: ['0x12'] } }, 'where.to', '0x12 must be a base58 address of 32 bytes'],
    [{ where: undefined }, 'where.to', 'is required; Solana sources read payments to wallets'],
    [{ where: { from: [SHOP] } }, 'where.from', 'Solana sources read payments to wallets'],
    [{ where: { from: [SHOP] } }, 'where.to', 'is required'],
    [{ preset: 'erc20' }, 'preset', 'must be one of spl, native on network 900'],
    [{ preset: undefined, abi: 'event A()' }, 'preset', 'must be one of spl, native on network 900'],
    [{ networkId: 8453 }, 'preset', 'must be one of erc20, native, request-network, loop, superfluid on network 8453'],
    [{ networkId: 901 }, 'networkId', ''],
    [{ addressBook: 'to', where: undefined }, 'addressBook', 'is not supported on Solana'],
    [{ fields: { order: 'nonce' } }, 'fields.order', 'must be one of payer, payee, amount, token, memo, reference'],
    [{ fields: { memo: 'memo' } }, 'fields.memo', 'the preset fills it'],
    [{ fromBlock: 9_000_000 }, 'fromBlock', 'which is the newest slot now'],
  ])('400 for %j', async (change, name, message) => {
    const { send } = await setUp(store);
    const response = await send(SOURCES, { ...spl, ...change });
    if (name === 'networkId') await expectProblem(response, 'network_not_followed');
    else expect((await errorsOf(response))[name]).toContain(message);
  });

  test('show what they make of a transaction, by its signature', async () => {
    const { cluster, send } = await setUp(store);
    const { signature, slot } = pay(cluster);
    const wanted = { ...spl, fields: { agreementId: { is: 'a-1' } }, transactionHash: signature };
    const preview = (await (await send(`${SOURCES}/preview`, wanted)).json()) as SourcePreview;
    expect(preview).toMatchObject({ transactionHash: signature, blockNumber: slot, isSuccess: true, logs: 1 });
    expect(preview.events).toMatchObject([
      {
        contract: MINT,
        fields: { payee: SHOP, amount: '25', amountBase: '25000000', token: MINT, agreementId: 'a-1' },
      },
    ]);
    const other = { ...spl, where: { to: [OTHER] }, transactionHash: signature };
    const { others } = (await (await send(`${SOURCES}/preview`, other)).json()) as SourcePreview;
    expect(others).toMatchObject([{ reason: `It pays ${SHOP}, and \`where.to\` does not list this wallet.` }]);
  });

  test('show their newest payments before they exist', async () => {
    const { cluster, send } = await setUp(store);
    const { signature } = pay(cluster);
    const recent = (await (await send(`${SOURCES}/preview/recent`, spl)).json()) as SourceRecentEvents;
    expect(recent.events[0]).toMatchObject({ transactionHash: signature, fields: { amount: '25' } });
  });

  test('name what is wrong with the id of a transaction', async () => {
    const { send } = await setUp(store);
    const errors = await errorsOf(await send(`${SOURCES}/preview`, { ...spl, transactionHash: HASH }));
    expect(errors.transactionHash).toBe('must be a transaction signature: 64 bytes in base58');
    const unknown = { ...spl, transactionHash: model.cluster.text(64) };
    await expectProblem(await send(`${SOURCES}/preview`, unknown), 'transaction_not_found');
  });

  test('have no address books and no invoices', async () => {
    const { send } = await setUp(store);
    const invoice = {
      networkId: 900,
      token: MINT,
      address: SHOP,
      amount: '25',
      transferId: 'x',
      dateExpires: 4_000_000_000,
    };
    const response = await send('/api/v1/crypto/invoices', invoice);
    expect(response.status).toBe(400);
  });

  test('search facts by a signature, whose letters have a case', async () => {
    const { read } = await setUp(store);
    const facts = await read<FactList>(`/api/v1/crypto/facts?transactionHash=${model.cluster.text(64)}`);
    expect(facts.totalResults).toBe(0);
  });
});
