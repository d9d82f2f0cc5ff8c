import { expect, test } from 'bun:test';
import type { AddressChange, AddressList } from '../../../../src/contract/chain/addresses.ts';
import type { PaymentList } from '../../../../src/contract/chain/payments.ts';
import type { Source, SourceList, SourcePreview } from '../../../../src/contract/chain/sources.ts';
import { showTronAddress } from '../../../../src/domain/chain/families/tron.ts';
import { call, createTenant, testApp } from '../../../support/api.ts';
import { FakeNetwork } from '../../../support/chain/fake-network.ts';
import {
  CONTRACT,
  PAYEE,
  PAYEE_CHECKSUMMED,
  PAYER,
  PAYER_CHECKSUMMED,
  presetLog,
} from '../../../support/chain/logs.ts';
import { newPaidNetwork } from '../../../support/chain/paid-network.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { onSuiteEngine, type TestStore } from '../../../support/stores.ts';

const BASE = '/api/v1/crypto';
const SOURCES = `${BASE}/sources`;
const TRON = 728_126_428;
const TOKEN = showTronAddress(CONTRACT);
const SHOP = showTronAddress(PAYEE);
const CUSTOMER = showTronAddress(PAYER);
const ID = 'a'.repeat(64);
const SIGNATURE = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW';
const MISTYPED = `${SHOP.slice(0, -1)}${SHOP.endsWith('x') ? 'y' : 'x'}`;

const trc20 = { networkId: TRON, preset: 'trc20', contract: TOKEN, where: { to: SHOP } };

async function setUp({ db }: TestStore) {
  const network = new FakeNetwork(TRON);
  const tenant = await createTenant(db);
  const settings = { CHAIN_RPC: `${TRON}=https://node.example/jsonrpc#TRON-PRO-API-KEY=secret` };
  const app = testApp(db, settings, { chain: network.tools(db) });
  const send = (path: string, json: object, method = 'POST') => call(app, tenant, path, { method, json });
  const read = async <Body>(path: string) => (await (await call(app, tenant, path)).json()) as Body;
  return { network, tenant, send, read };
}

const errorsOf = async (response: Response) => messagesByName(await expectProblem(response, 'invalid_request'));

onSuiteEngine('sources on Tron', (store) => {
  test('take addresses as wallets show them, and show them so', async () => {
    const { send, read } = await setUp(store);
    const response = await send(SOURCES, trc20);
    expect(response.status).toBe(201);
    const source = (await response.json()) as Source;
    expect(source).toMatchObject({ preset: 'trc20', contract: TOKEN, where: { to: [SHOP] } });
    for (const contract of [TOKEN, CONTRACT, `41${CONTRACT.slice(2)}`]) {
      const { totalResults } = await read<SourceList>(`${SOURCES}?contract=${contract}`);
      expect([contract, totalResults]).toEqual([contract, contract.startsWith('41') ? 0 : 1]);
    }
  });

  test('are the same source in hex and by the name of ERC-20', async () => {
    const { send } = await setUp(store);
    const first = (await (await send(SOURCES, trc20)).json()) as Source;
    for (const same of [
      { ...trc20, contract: CONTRACT, where: { to: PAYEE } },
      { ...trc20, contract: `41${CONTRACT.slice(2)}`, where: { to: [PAYEE_CHECKSUMMED] } },
      { ...trc20, preset: 'erc20' },
    ]) {
      const response = await send(SOURCES, same);
      expect(response.status).toBe(200);
      expect(((await response.json()) as Source).sourceId).toBe(first.sourceId);
    }
  });

  test('show what they make of a transaction, whose id needs no prefix', async () => {
    const { network, send } = await setUp(store);
    network.addTransaction(`0x${ID}`, [presetLog('trc20', [PAYER, PAYEE, 25_000_000n])]);
    for (const transactionHash of [ID, `0x${ID}`, ID.toUpperCase()]) {
      const preview = (await (await send(`${SOURCES}/preview`, { ...trc20, transactionHash })).json()) as SourcePreview;
      expect(preview.transactionHash).toBe(`0x${ID}`);
      expect(preview.events).toMatchObject([
        { contract: TOKEN, fields: { payer: CUSTOMER, payee: SHOP, amount: '25', token: TOKEN } },
      ]);
    }
    const other = { ...trc20, where: { to: CUSTOMER }, transactionHash: ID };
    const { others } = (await (await send(`${SOURCES}/preview`, other)).json()) as SourcePreview;
    expect(others).toMatchObject([
      { contract: TOKEN, reason: `Its to is ${SHOP}, and \`where\` does not list this value.` },
    ]);
  });

  test.each([
    [{ contract: MISTYPED }, 'contract', 'the checksum does not match; check for a typing error'],
    [{ contract: 'TR7' }, 'contract', 'must be an address: T and 33 letters and digits, or 0x and 40 hex digits'],
    [{ where: { to: [SHOP, MISTYPED] } }, 'where.to.1', 'the checksum does not match; check for a typing error'],
    [
      { contract: PAYER_CHECKSUMMED.replace('0x7', '0x6') },
      'contract',
      'the checksum does not match; check for a typing error',
    ],
    [{ preset: 'loop' }, 'preset', `must be one of trc20, erc20 on network ${TRON}`],
    [{ networkId: 8453 }, 'preset', 'must be one of erc20, native, request-network, loop, superfluid on network 8453'],
  ])('400 for %j', async (change, name, message) => {
    const { send } = await setUp(store);
    expect((await errorsOf(await send(SOURCES, { ...trc20, ...change })))[name]).toContain(message);
  });

  test('400 for a signature of Solana in place of a transaction', async () => {
    const { send } = await setUp(store);
    const errors = await errorsOf(await send(`${SOURCES}/preview`, { ...trc20, transactionHash: SIGNATURE }));
    expect(errors.transactionHash).toContain('64 hex digits, with 0x or without it');
  });

  test('have address books with the same addresses', async () => {
    const { send, read } = await setUp(store);
    const withBook = { networkId: TRON, preset: 'trc20', contract: TOKEN, addressBook: 'to' };
    const { sourceId } = (await (await send(SOURCES, withBook)).json()) as Source;
    const path = `${SOURCES}/${sourceId}/addresses`;
    const added = await send(path, { addresses: [{ address: SHOP }, { address: PAYER }] });
    expect((await added.json()) as AddressChange).toMatchObject({ added: 2 });
    const { addresses } = await read<AddressList>(path);
    expect(addresses.map(({ address }) => address).sort()).toEqual([SHOP, CUSTOMER].sort());
    for (const address of [SHOP, PAYEE]) {
      expect(await read<AddressList>(`${path}?address=${address}`)).toMatchObject({ totalResults: 1 });
    }
    const twice = await errorsOf(await send(path, { addresses: [{ address: SHOP }, { address: PAYEE }] }));
    expect(twice).toEqual({ 'addresses.1.address': 'is the same as addresses.0.address' });
    const wrong = await errorsOf(await send(path, { addresses: [{ address: MISTYPED }] }));
    expect(wrong).toEqual({ 'addresses.0.address': 'the checksum does not match; check for a typing error' });
    const removed = await send(path, { addresses: [PAYEE] }, 'DELETE');
    expect((await removed.json()) as AddressChange).toMatchObject({ removed: 1, addressCount: 1 });
  });

  test('lead to payments that are found by either form of an address and a transaction', async () => {
    const { tenant, read } = await setUp(store);
    const { payment, pay } = newPaidNetwork(store.db, tenant.entityId, TRON);
    const fields = { amount: '1.5', amountBase: '1500000', token: TOKEN, payer: CUSTOMER, payee: SHOP };
    const fact = payment(10, { contract: TOKEN, fields });
    await pay(20, [fact]);
    const digits = fact.transactionHash.slice(2);
    for (const query of [
      ...[SHOP, PAYEE, PAYEE.slice(2), CUSTOMER, digits, `0x${digits}`].map((text) => `q=${text}`),
      ...[`payee=${SHOP}`, `payee=${PAYEE}`, `payer=${CUSTOMER}`, `token=${TOKEN}`, `address=${SHOP}`],
      `transactionHash=${digits}`,
    ]) {
      const { payments } = await read<PaymentList>(`${BASE}/payments?${query}`);
      expect({ query, payments }).toMatchObject({
        query,
        payments: [
          {
            network: 'tron:0x2b6653dc',
            transactionHash: fact.transactionHash,
            ...{ payer: CUSTOMER, payee: SHOP, token: { address: TOKEN } },
          },
        ],
      });
    }
    expect(await read<PaymentList>(`${BASE}/payments?q=${MISTYPED}`)).toMatchObject({ totalResults: 0 });
  });
});
