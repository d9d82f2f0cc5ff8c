import { expect, test } from 'bun:test';
import type { AddressChange, AddressList } from '../../../../src/contract/chain/addresses.ts';
import type { Source } from '../../../../src/contract/chain/sources.ts';
import { call, createTenant, testApp } from '../../../support/api.ts';
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

const SOURCES = '/api/v1/crypto/sources';
const HASH = `0x${'a'.repeat(64)}`;
const withBook = { networkId: NETWORK, preset: 'erc20', contract: CONTRACT, addressBook: 'to' };
const addressOf = (number: number) => `0x${number.toString(16).padStart(40, '0')}`;

async function setUp({ db }: TestStore, settings: Record<string, string> = {}) {
  const network = new FakeNetwork();
  const tenant = await createTenant(db);
  const other = await createTenant(db);
  const rpc = { CHAIN_RPC: `${NETWORK}=https://node.example/secret-key` };
  const app = testApp(db, { ...rpc, ...settings }, { chain: network.tools(db) });
  const created = await call(app, tenant, SOURCES, { json: withBook });
  const source = (await created.json()) as Source;
  const path = `${SOURCES}/${source.sourceId}/addresses`;
  const send = (method: string, addresses: unknown, as = tenant) =>
    call(app, as, path, { method, json: { addresses } });
  const readBook = async (query = '') => (await (await call(app, tenant, path + query)).json()) as AddressList;
  return { network, tenant, other, app, source, path, send, readBook };
}

async function changed(response: Response): Promise<AddressChange> {
  expect(response.status).toBe(200);
  return (await response.json()) as AddressChange;
}

onSuiteEngine('the address book of a source', (store) => {
  test('takes, lists and gives back addresses', async () => {
    const { source, app, tenant, send, readBook } = await setUp(store);
    expect(source).toMatchObject({ addressBook: 'to', addressCount: 0, where: {} });
    const entries = [{ address: PAYEE_CHECKSUMMED, agreementId: 'agr_1', reference: 'order 1' }, { address: PAYER }];
    expect(await changed(await send('POST', entries))).toEqual({
      ...{ added: 2, changed: 0, removed: 0, addressCount: 2, fromBlock: 1_001, untilBlock: null },
    });
    expect(await readBook(`?reference=${encodeURIComponent('order 1')}`)).toEqual({
      totalResults: 1,
      addresses: [
        {
          address: PAYEE,
          agreementId: 'agr_1',
          reference: 'order 1',
          fromBlock: 1_001,
          dateCreated: expect.any(Number),
        },
      ],
    });
    expect(await changed(await send('DELETE', [PAYER, addressOf(5)]))).toMatchObject({ removed: 1, addressCount: 1 });
    expect((await readBook()).addresses.map(({ address }) => address)).toEqual([PAYEE]);
    const shown = await call(app, tenant, `${SOURCES}/${source.sourceId}`);
    expect(await shown.json()).toMatchObject({ addressCount: 1 });
  });

  test('is what a preview of a transaction goes by', async () => {
    const { network, app, tenant, send } = await setUp(store);
    network.addTransaction(HASH, [presetLog('erc20', [PAYER, PAYEE, 5_000_000n], { blockNumber: 1_001 })]);
    const preview = async () => {
      const json = { networkId: NETWORK, transactionHash: HASH };
      return (await call(app, tenant, `${SOURCES}/preview`, { json })).json();
    };
    expect(await preview()).toMatchObject({ events: [], others: [{ reason: 'No source takes it.' }] });
    await send('POST', [{ address: PAYEE, reference: 'order 1' }]);
    expect(await preview()).toMatchObject({ events: [{ fields: { amount: '5', reference: 'order 1' } }] });
  });

  test('400 names each wrong address', async () => {
    const { send } = await setUp(store);
    const mistyped = PAYER_CHECKSUMMED.replace('0x7', '0x6');
    const entries = [{ address: mistyped }, { address: PAYER }, { address: PAYER.toUpperCase().replace('0X', '0x') }];
    const errors = messagesByName(await expectProblem(await send('POST', entries), 'invalid_request'));
    expect(errors['addresses.0.address']).toContain('has a wrong checksum');
    expect(errors['addresses.2.address']).toBe('is the same as addresses.1.address');
    for (const wrong of [
      [],
      [{ address: '0x12' }],
      [{ address: PAYER, reference: '' }],
      [{ address: PAYER, note: 1 }],
    ]) {
      await expectProblem(await send('POST', wrong), 'invalid_request');
    }
    const many = Array.from({ length: 1_001 }, (_, number) => addressOf(number + 1));
    const tooMany = await expectProblem(await send('DELETE', many), 'invalid_request');
    expect(messagesByName(tooMany).addresses).toBe('must be a list of 1 to 1000 addresses');
  });

  test('409 for a source without a book, and beyond the limit', async () => {
    const { app, tenant, send } = await setUp(store, { ENTITY_ADDRESS_LIMIT: '2' });
    const entries = [1, 2, 3].map((number) => ({ address: addressOf(number) }));
    const limit = await expectProblem(await send('POST', entries), 'address_limit');
    expect(limit.detail).toContain('at most 2 addresses');
    const json = { networkId: NETWORK, preset: 'erc20', contract: CONTRACT, where: { to: PAYEE } };
    const plain = (await (await call(app, tenant, SOURCES, { json })).json()) as Source;
    const added = await call(app, tenant, `${SOURCES}/${plain.sourceId}/addresses`, { json: { addresses: entries } });
    expect((await expectProblem(added, 'conflict')).detail).toContain('has no address book');
  });

  test('400 for a book of a parameter that is not an indexed address, or that where has too', async () => {
    const { app, tenant, source } = await setUp(store);
    const errorsOf = async (json: object) =>
      messagesByName(await expectProblem(await call(app, tenant, SOURCES, { json }), 'invalid_request'));
    expect(await errorsOf({ ...withBook, addressBook: 'value' })).toMatchObject({
      addressBook: 'must be an indexed address of the event; these are from, to',
    });
    expect(await errorsOf({ ...withBook, where: { to: PAYEE } })).toMatchObject({
      'where.to': 'is set by the address book; leave it out',
    });
    const path = `${SOURCES}/${source.sourceId}`;
    const patched = await call(app, tenant, path, { method: 'PATCH', json: { addressBook: 'from' } });
    expect(messagesByName(await expectProblem(patched, 'invalid_request'))).toMatchObject({
      addressBook: 'cannot be changed, create another source',
    });
  });
});
