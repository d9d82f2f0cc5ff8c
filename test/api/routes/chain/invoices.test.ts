import { expect, test } from 'bun:test';
import { RpcFailure } from '../../../../src/chain/rpc/failures.ts';
import type { InvoiceBatchResults, InvoiceDetail, InvoiceList } from '../../../../src/contract/chain/invoices.ts';
import type { NewInvoice } from '../../../../src/contract/chain/new-invoice.ts';
import type { Source, SourceList } from '../../../../src/contract/chain/sources.ts';
import { call, createTenant, testApp } from '../../../support/api.ts';
import { FakeNetwork } from '../../../support/chain/fake-network.ts';
import { CONTRACT, NETWORK, PAYEE, PAYEE_CHECKSUMMED, PAYER_CHECKSUMMED, TOKEN } from '../../../support/chain/logs.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { onSuiteEngine, type TestStore } from '../../../support/stores.ts';

const BASE = '/api/v1/crypto';
const INVOICES = `${BASE}/invoices`;
/** One digit of it is another one. */
const MISTYPED = PAYER_CHECKSUMMED.replace('0x7', '0x6');
const CONTRACT_CHECKSUMMED = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
const addressOf = (number: number) => `0x${number.toString(16).padStart(40, '0')}`;
const nowS = () => Math.floor(Date.now() / 1000);
const DAY_S = 86_400;

type Given = Partial<Omit<NewInvoice, 'token' | 'match'>> & { readonly token?: unknown; readonly match?: unknown };

/** Each to another address unless it is given. */
let addresses = 0;
function invoice(given: Given = {}): object {
  const address = addressOf(++addresses);
  return { networkId: NETWORK, token: CONTRACT, address, amount: '25', dateExpires: nowS() + DAY_S, ...given };
}

async function setUp({ db }: TestStore, settings: Record<string, string> = {}) {
  const network = new FakeNetwork();
  const tenant = await createTenant(db);
  const rpc = { CHAIN_RPC: `${NETWORK}=https://node.example/secret-key` };
  const app = testApp(db, { ...rpc, ...settings }, { chain: network.tools(db) });
  const post = (json: object, path = '', as = tenant) => call(app, as, INVOICES + path, { method: 'POST', json });
  const act = (id: string, action: string, as = tenant) =>
    call(app, as, `${INVOICES}/${id}/${action}`, { method: 'POST' });
  const create = async (json: object) => {
    const response = await post(json);
    expect(response.status).toBe(201);
    return (await response.json()) as InvoiceDetail;
  };
  const batch = async (lines: readonly unknown[]) => {
    const body = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
    const headers = { 'content-type': 'application/x-ndjson' };
    const response = await call(app, tenant, `${INVOICES}/batch`, { method: 'POST', body, headers });
    expect(response.status).toBe(200);
    return ((await response.json()) as InvoiceBatchResults).results;
  };
  const get = async <Body>(path: string) => (await (await call(app, tenant, BASE + path)).json()) as Body;
  return { network, tenant, app, post, act, create, batch, get };
}

const errorsOf = async (response: Response) => messagesByName(await expectProblem(response, 'invalid_request'));

onSuiteEngine('invoices', (store) => {
  const readTo = (tip: number | null) =>
    store.db.transaction((queries) =>
      queries.run('update chains set tip_number = $1 where network_id = $2', [tip, NETWORK]),
    );

  test('201 with the invoice, whose payments count from the next block on', async () => {
    const { create, get } = await setUp(store);
    const dateExpires = nowS() + DAY_S;
    const given = { address: PAYEE, reference: 'order 1', metadata: { cart: '77' }, agreementId: 'agr_1', dateExpires };
    const made = await create(invoice(given));
    expect(made).toEqual({
      invoiceId: expect.stringMatching(/^inv_[0-9a-f]{32}$/),
      networkId: NETWORK,
      network: `eip155:${NETWORK}`,
      token: CONTRACT_CHECKSUMMED,
      symbol: 'USDC',
      decimals: 6,
      isListed: true,
      address: PAYEE_CHECKSUMMED,
      amount: '25',
      tolerancePercent: 0,
      match: 'address',
      dateExpires,
      watchDays: 7,
      agreementId: 'agr_1',
      transferId: made.invoiceId,
      reference: 'order 1',
      metadata: { cart: '77' },
      state: 'open',
      isFinal: false,
      isLate: false,
      received: '0',
      receivedFinal: '0',
      due: '25',
      paymentCount: 0,
      unexplainedBalance: null,
      dateChecked: null,
      fromBlock: 1_001,
      untilBlock: null,
      dateWatchedUntil: dateExpires + 7 * DAY_S,
      dateCancelled: null,
      dateCreated: expect.any(Number),
      payments: [],
    });
    expect(await get<InvoiceDetail>(`/invoices/${made.invoiceId}`)).toEqual(made);
  });

  test('200 with the same invoice for the same reference and terms, 409 for other terms', async () => {
    const { post, create } = await setUp(store);
    const given = invoice({ reference: 'order 2', metadata: { a: '1', b: '2' }, amount: '25.0' });
    const made = await create(given);
    const again = await post({ ...given, amount: '25', metadata: { b: '2', a: '1' } });
    expect(again.status).toBe(200);
    expect(await again.json()).toEqual(made);
    const other = await expectProblem(await post({ ...given, amount: '26' }), 'invoice_conflict');
    expect(other.detail).toContain(made.invoiceId);
  });

  test('one invoice for requests with one reference that come at once', async () => {
    const { post, create, get } = await setUp(store);
    const given = invoice({ reference: 'order 3' });
    // Known before: the token, and the newest block.
    await create(invoice());
    await readTo(1_000);
    const responses = await Promise.all(Array.from({ length: 4 }, () => post(given)));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201]);
    expect(await get<InvoiceList>('/invoices')).toMatchObject({ totalResults: 2 });
    await readTo(null);
  });

  test('409 for an address with an open invoice, and for an amount that an exact invoice has there', async () => {
    const { post, create, act } = await setUp(store);
    const address = addressOf(70_000);
    const made = await create(invoice({ address }));
    await expectProblem(await post(invoice({ address })), 'address_in_use');
    await expectProblem(await post(invoice({ address, match: 'exact' })), 'address_in_use');
    expect((await post(invoice({ address, token: TOKEN }))).status).toBe(201);
    expect((await act(made.invoiceId, 'cancel')).status).toBe(200);
    await create(invoice({ address, match: 'exact', amount: '25' }));
    await create(invoice({ address, match: 'exact', amount: '26' }));
    await expectProblem(await post(invoice({ address, match: 'exact', amount: '25.00' })), 'amount_in_use');
    await expectProblem(await post(invoice({ address })), 'address_in_use');
  });

  test('an address with an open invoice of another entity is free', async () => {
    const { post, create } = await setUp(store);
    const given = invoice();
    await create(given);
    const other = await createTenant(store.db);
    expect((await post(given, '', other)).status).toBe(201);
  });

  test('400 names each wrong field', async () => {
    const { post } = await setUp(store);
    const wrong = async (given: Given) => errorsOf(await post(invoice(given)));
    expect(await wrong({ address: MISTYPED })).toMatchObject({ address: expect.stringContaining('wrong checksum') });
    expect(await wrong({ address: '0x12' })).toMatchObject({ address: expect.stringContaining('40 hex digits') });
    expect(await wrong({ token: 'USDC' })).toMatchObject({ token: expect.stringContaining('40 hex digits') });
    expect(await wrong({ token: '' })).toMatchObject({ token: expect.stringContaining('address of a token') });
    for (const amount of ['0', '0.00', '-1', '1e3', '', 25 as unknown as string]) {
      expect(await wrong({ amount })).toMatchObject({ amount: expect.stringContaining('decimal above 0') });
    }
    expect(await wrong({ amount: '0.0000001' })).toEqual({ amount: 'has 7 decimals, USDC has 6' });
    expect(await wrong({ amount: '1.1234567890123456789', token: TOKEN })).toEqual({
      amount: 'has 19 decimals, the token has 18',
    });
    expect(await wrong({ amount: '9'.repeat(75) })).toMatchObject({ amount: expect.stringContaining('2^256') });
    for (const tolerancePercent of [-1, 10.5, 0.001]) {
      expect(await wrong({ tolerancePercent })).toMatchObject({ tolerancePercent: expect.stringContaining('0 to 10') });
    }
    expect(await wrong({ match: 'exact', tolerancePercent: 1 })).toMatchObject({
      tolerancePercent: expect.stringContaining('must be 0 with match "exact"'),
    });
    for (const dateExpires of [nowS() - 1, nowS() + 30, nowS() + 367 * DAY_S]) {
      expect(await wrong({ dateExpires })).toMatchObject({ dateExpires: expect.stringContaining('at least a minute') });
    }
    expect(await wrong({ watchDays: 91 })).toMatchObject({ watchDays: expect.stringContaining('0 to 90') });
    expect(await wrong({ match: 'some' })).toMatchObject({ match: 'must be one of address, exact' });
    expect(await wrong({ reference: 'a\u0000' })).toMatchObject({ reference: expect.stringContaining('control') });
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`name ${at}`, 'text']));
    expect(await wrong({ metadata: many })).toMatchObject({ metadata: expect.stringContaining('at most 20') });
    expect(await wrong({ metadata: { note: 'ü'.repeat(1_100) } })).toMatchObject({
      metadata: expect.stringContaining('2048 bytes'),
    });
  });

  test('a tolerance of two decimals is kept exactly', async () => {
    const { create } = await setUp(store);
    for (const tolerancePercent of [0.29, 1.1, 10]) {
      expect(await create(invoice({ tolerancePercent }))).toMatchObject({ tolerancePercent });
    }
  });

  test('409 for a network that is not followed, 409 for a token without decimals, 503 while no node responds', async () => {
    const { network, post } = await setUp(store);
    await expectProblem(await post(invoice({ networkId: 1 })), 'network_not_followed');
    await expectProblem(await post(invoice({ token: addressOf(5) })), 'token_unknown');
    network.failure = new RpcFailure('unreachable');
    await expectProblem(await post(invoice({ token: TOKEN })), 'network_unavailable');
    network.failure = null;
    expect((await post(invoice({ token: TOKEN }))).status).toBe(201);
    // The decimals are stored, and the network is known by then.
    network.failure = new RpcFailure('unreachable');
    await readTo(2_000);
    const known = await post(invoice({ token: TOKEN }));
    expect(known.status).toBe(201);
    expect(await known.json()).toMatchObject({ fromBlock: 2_001 });
    await readTo(null);
  });

  test('409 beyond ENTITY_INVOICE_LIMIT, ENTITY_ADDRESS_LIMIT and ENTITY_SOURCE_LIMIT', async () => {
    const { post, create, act } = await setUp(store, { ENTITY_INVOICE_LIMIT: '2' });
    const first = await create(invoice());
    await create(invoice());
    await expectProblem(await post(invoice()), 'invoice_limit');
    await act(first.invoiceId, 'cancel');
    expect((await post(invoice())).status).toBe(201);
    const few = await setUp(store, { ENTITY_ADDRESS_LIMIT: '1', ENTITY_SOURCE_LIMIT: '1' });
    const address = addressOf(71_000);
    await few.create(invoice({ address, match: 'exact', amount: '1' }));
    await few.create(invoice({ address, match: 'exact', amount: '2' }));
    await expectProblem(await few.post(invoice()), 'address_limit');
    await expectProblem(await few.post(invoice({ token: TOKEN, address })), 'source_limit');
  });

  test('a batch has a result for each line', async () => {
    const { batch, get } = await setUp(store);
    const address = addressOf(72_000);
    const repeated = invoice({ reference: 'order 4' });
    const results = await batch([
      repeated,
      repeated,
      invoice({ address }),
      invoice({ address }),
      invoice({ amount: '0' }),
      '{',
      invoice({ networkId: 1 }),
      invoice({ token: addressOf(6) }),
      invoice({ dateExpires: 5 }),
    ]);
    expect(results.map(({ status, code }) => [status, code])).toEqual([
      [201, null],
      [200, null],
      [201, null],
      [409, 'address_in_use'],
      [400, 'invalid_request'],
      [400, 'invalid_json'],
      [409, 'network_not_followed'],
      [409, 'token_unknown'],
      [400, 'invalid_request'],
    ]);
    expect(results[0]?.invoiceId).toBe(results[1]?.invoiceId ?? '');
    expect(results[8]?.detail).toContain('dateExpires must be from');
    expect(await get<InvoiceList>('/invoices')).toMatchObject({ totalResults: 2 });
  });

  test('a batch takes 1,000 invoices, and not one more', async () => {
    const { app, tenant, batch, get } = await setUp(store);
    const lines = Array.from({ length: 1_000 }, (_, at) => invoice({ reference: `order 5-${at}` }));
    const created = await batch(lines);
    expect(created.filter(({ status }) => status === 201)).toHaveLength(1_000);
    expect((await batch(lines)).every(({ status }, at) => status === 200 && created[at] !== undefined)).toBe(true);
    const sources = await get<SourceList>('/sources');
    expect(sources.sources).toMatchObject([{ isForInvoices: true, name: 'Invoices', addressCount: 1_000 }]);
    const body = [...lines, invoice()].map((line) => JSON.stringify(line)).join('\n');
    const headers = { 'content-type': 'application/x-ndjson' };
    await expectProblem(
      await call(app, tenant, `${INVOICES}/batch`, { method: 'POST', body, headers }),
      'body_too_large',
    );
  });

  test('a batch names at most 20 new tokens', async () => {
    const { network, batch } = await setUp(store);
    for (let at = 0; at < 25; at++) network.decimals.set(addressOf(80_000 + at), 6);
    const lines = Array.from({ length: 25 }, (_, at) => invoice({ token: addressOf(80_000 + at) }));
    expect((await batch(lines)).map(({ status }) => status)).toEqual([...Array(20).fill(201), ...Array(5).fill(400)]);
    expect((await batch(lines.slice(20))).map(({ status }) => status)).toEqual(Array(5).fill(201));
  });

  test('cancel ends an invoice once, and its address is free', async () => {
    const { create, act, get } = await setUp(store);
    const made = await create(invoice());
    const cancelled = (await (await act(made.invoiceId, 'cancel')).json()) as InvoiceDetail;
    expect(cancelled).toMatchObject({ state: 'cancelled', dateCancelled: expect.any(Number), untilBlock: 1_000 });
    expect(await (await act(made.invoiceId, 'cancel')).json()).toEqual(cancelled);
    // The source of the token goes with its last address.
    expect(await get<SourceList>('/sources')).toMatchObject({ totalResults: 0 });
    expect((await act('inv_unknown', 'cancel')).status).toBe(404);
    const other = await createTenant(store.db);
    expect((await act(made.invoiceId, 'cancel', other)).status).toBe(404);
  });

  test('check asks a node for the balance, at most once in 10 seconds', async () => {
    const { network, create, act } = await setUp(store);
    const made = await create(invoice({ address: PAYEE }));
    const check = async () => (await (await act(made.invoiceId, 'check')).json()) as InvoiceDetail;
    network.balances.set(`${CONTRACT} ${PAYEE}`, 3_500_000n);
    expect(await check()).toMatchObject({ unexplainedBalance: '3.5', dateChecked: expect.any(Number), state: 'open' });
    network.balances.set(`${CONTRACT} ${PAYEE}`, 0n);
    expect(await check()).toMatchObject({ unexplainedBalance: '3.5' });
    const sql = 'update invoices set checked_at_ms = checked_at_ms - 10000 where id = $1';
    await store.db.transaction((queries) => queries.run(sql, [made.invoiceId]));
    expect(await check()).toMatchObject({ unexplainedBalance: null });
    await store.db.transaction((queries) => queries.run(sql, [made.invoiceId]));
    network.failure = new RpcFailure('unreachable');
    await expectProblem(await act(made.invoiceId, 'check'), 'network_unavailable');
    expect((await act('inv_unknown', 'check')).status).toBe(404);
  });

  test('the list finds invoices by what names them', async () => {
    const { create, act, get } = await setUp(store);
    const first = await create(invoice({ reference: 'order 6', agreementId: 'agr_6', transferId: 'trf_6' }));
    const second = await create(invoice({ token: TOKEN, dateExpires: nowS() + 2 * DAY_S }));
    await act(second.invoiceId, 'cancel');
    const ids = async (query: string) =>
      (await get<InvoiceList>(`/invoices?${query}`)).invoices.map(({ invoiceId }) => invoiceId);
    const { invoiceId } = first;
    for (const q of ['order 6', 'agr_6', 'trf_6', invoiceId, first.address, first.address.slice(2).toUpperCase()]) {
      expect(await ids(`q=${encodeURIComponent(q)}`)).toEqual([invoiceId]);
    }
    for (const query of [
      'reference=order%206',
      'agreementId=agr_6',
      `address=${first.address.toUpperCase().replace('X', 'x')}`,
    ]) {
      expect(await ids(query)).toEqual([invoiceId]);
    }
    expect(await ids(`token=${TOKEN}`)).toEqual([second.invoiceId]);
    expect(await ids('watch=on')).toEqual([invoiceId]);
    expect(await ids('watch=ended')).toEqual([second.invoiceId]);
    expect(await ids('sortBy=dateExpires&sortDir=asc')).toEqual([invoiceId, second.invoiceId]);
    expect(await ids(`q=0x${'a'.repeat(64)}`)).toEqual([]);
    expect(await ids('q=nothing')).toEqual([]);
  });

  test('the source of invoices is shown, and only its pause can be ended', async () => {
    const { app, tenant, create, get } = await setUp(store);
    await create(invoice());
    const [source] = (await get<SourceList>('/sources')).sources as Source[];
    const path = `${BASE}/sources/${source?.sourceId}`;
    const patch = (json: object) => call(app, tenant, path, { method: 'PATCH', json });
    await expectProblem(await patch({ name: 'Shop' }), 'conflict');
    await expectProblem(await patch({ isPaused: true }), 'conflict');
    expect((await patch({ isPaused: false })).status).toBe(200);
    await expectProblem(await call(app, tenant, path, { method: 'DELETE' }), 'conflict');
    const book = { method: 'POST', json: { addresses: [{ address: PAYEE }] } };
    await expectProblem(await call(app, tenant, `${path}/addresses`, book), 'conflict');
    const removed = { method: 'DELETE', json: { addresses: [PAYEE] } };
    await expectProblem(await call(app, tenant, `${path}/addresses`, removed), 'conflict');
  });
});
