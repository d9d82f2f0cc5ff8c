import { expect, test } from 'bun:test';
import { paymentListQuerySchema } from '../../../src/contract/chain/payments.ts';
import type { FoundFact } from '../../../src/domain/chain/facts.ts';
import { listPayments } from '../../../src/store/chain/payments/list.ts';
import { saveTokens } from '../../../src/store/chain/tokens.ts';
import { at, newPaidNetwork, PAYER, SHOP, USDC } from '../../support/chain/paid-network.ts';
import { CONFIRMED } from '../../support/chain/steps.ts';
import { accept, newEvent } from '../../support/deliveries.ts';
import { rejection } from '../../support/rejection.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { newEntity, register, setFinality } from '../../support/webhooks.ts';

const HOOK = 'https://hooks.example.com/paybell';

onSuiteEngine('payments', (store) => {
  async function setUp() {
    const entityId = await newEntity(store.db);
    const network = newPaidNetwork(store.db, entityId);
    const find = (query: Record<string, string>) =>
      listPayments(store.db, entityId, paymentListQuerySchema.parse({ sortDir: 'asc', ...query }));
    /** The places of the payments that are found among the given ones. */
    const places = async (facts: readonly FoundFact[], query: Record<string, string>) => {
      const { totalResults, payments } = await find(query);
      const found = payments.map(({ paymentId }) =>
        facts.findIndex(({ factId }) => factId.slice(4) === paymentId.slice(4)),
      );
      expect(totalResults).toBe(found.length);
      return found.sort();
    };
    return { entityId, ...network, find, places };
  }

  const fieldsOf = (amount: string, more: Record<string, unknown> = {}) => ({
    amount,
    token: USDC,
    payer: PAYER,
    payee: SHOP,
    ...more,
  });

  test('are found by what the form of q names', async () => {
    const { payment, pay, places } = await setUp();
    const other = `0x${'d'.repeat(40)}`;
    const facts = [
      payment(10, { transferId: 't-1', agreementId: 'a-1' }),
      payment(11, { agreementId: 't-1', fields: fieldsOf('25') }),
      payment(12, { fields: fieldsOf('2.50', { payer: other, payee: other }) }),
    ];
    await pay(20, facts);
    const [first, , third] = facts;
    const hash = first?.transactionHash ?? '';
    expect(await places(facts, { q: hash })).toEqual([0]);
    expect(await places(facts, { q: hash.slice(2).toUpperCase() })).toEqual([0]);
    expect(await places(facts, { q: PAYER })).toEqual([0, 1]);
    expect(await places(facts, { q: SHOP.slice(2) })).toEqual([0, 1]);
    expect(await places(facts, { q: other })).toEqual([2]);
    expect(await places(facts, { q: first?.factId ?? '' })).toEqual([0]);
    expect(await places(facts, { q: `pay_${third?.factId.slice(4)}` })).toEqual([2]);
    expect(await places(facts, { q: `${first?.factId}_1_TransferProcessed_seen` })).toEqual([0]);
    expect(await places(facts, { q: '25.0' })).toEqual([1]);
    expect(await places(facts, { q: '2.5' })).toEqual([2]);
    expect(await places(facts, { q: 't-1' })).toEqual([0, 1]);
    expect(await places(facts, { q: 'a-1' })).toEqual([0]);
    for (const q of ['t-', 'T-1', '9'.repeat(80), `evt_${'0'.repeat(32)}`, `0x${'0'.repeat(64)}`, '%']) {
      expect([q, await places(facts, { q })]).toEqual([q, []]);
    }
  });

  test('are found by the id of an event and of a delivery', async () => {
    const { entityId, networkId, payment, pay, places, find } = await setUp();
    await register(store.db, entityId, HOOK, [{ networkId, event: 'TransferProcessed' }]);
    const facts = [payment(10), payment(11)];
    await pay(20, facts);
    expect((await find({})).payments.map(({ deliveries }) => deliveries.waiting)).toEqual([1, 1]);
    const rows = await store.db.all<{ hex: string }>(
      `select ${store.engine === 'sqlite' ? 'lower(hex(id))' : `replace(id::text, '-', '')`} as hex from queue order by id`,
    );
    const found = [];
    for (const { hex } of rows.slice(-2)) found.push(...(await places(facts, { q: `dlv_${hex}` })));
    expect(found.sort()).toEqual([0, 1]);
    const [hex = ''] = rows.slice(-1).map((row) => row.hex);
    expect(await places(facts, { q: `evt_${hex.slice(0, -10)}${'0'.repeat(10)}` })).toHaveLength(1);
  });

  test('are filtered by account, token, amount, network and date, all at once', async () => {
    const { networkId, payment, pay, places } = await setUp();
    const euro = `0x${'e'.repeat(40)}`;
    const facts = [
      payment(10, { fields: fieldsOf('9.99') }),
      payment(11, { fields: fieldsOf('10') }),
      payment(12, { fields: fieldsOf('100.000000000000000001') }),
      payment(13, { fields: fieldsOf('10', { token: euro, payer: SHOP, payee: SHOP }) }),
      payment(14, { fields: { amountBase: '7', token: euro, payee: 'till 7' } }),
    ];
    await pay(20, facts);
    expect(await places(facts, {})).toEqual([0, 1, 2, 3, 4]);
    expect(await places(facts, { payer: PAYER.toLowerCase() })).toEqual([0, 1, 2]);
    expect(await places(facts, { payee: SHOP })).toEqual([0, 1, 2, 3]);
    expect(await places(facts, { address: SHOP })).toEqual([0, 1, 2, 3]);
    expect(await places(facts, { address: SHOP, q: PAYER })).toEqual([0, 1, 2]);
    expect(await places(facts, { payee: 'till 7' })).toEqual([4]);
    expect(await places(facts, { token: euro })).toEqual([3, 4]);
    expect(await places(facts, { amount: '10.0' })).toEqual([1, 3]);
    expect(await places(facts, { amount: '10', token: USDC })).toEqual([1]);
    expect(await places(facts, { minAmount: '10', token: USDC })).toEqual([1, 2]);
    expect(await places(facts, { maxAmount: '100', token: USDC })).toEqual([0, 1]);
    expect(await places(facts, { minAmount: '9.991', maxAmount: '100.000000000000000001', token: USDC })).toEqual([
      1, 2,
    ]);
    expect(await places(facts, { maxAmount: '9'.repeat(100), token: USDC })).toEqual([0, 1, 2]);
    expect(await places(facts, { minAmount: '9'.repeat(100), token: USDC })).toEqual([]);
    expect(await places(facts, { networkId: String(networkId), address: SHOP, amount: '10' })).toEqual([1, 3]);
    expect(await places(facts, { networkId: '1' })).toEqual([]);
    const nowS = Math.floor(Date.now() / 1000);
    expect(await places(facts, { since: String(nowS - 3_600), until: String(nowS + 3_600) })).toHaveLength(5);
    expect(await places(facts, { until: String(nowS - 3_600) })).toEqual([]);
  });

  test('have pages without gaps, also where they are from and to an account', async () => {
    const { payment, pay, find } = await setUp();
    const facts = Array.from({ length: 7 }, (_, index) =>
      payment(10 + index, { fields: fieldsOf('1', index % 2 === 0 ? { payer: SHOP, payee: PAYER } : {}) }),
    );
    await pay(30, facts);
    const ids: string[] = [];
    for (const page of ['1', '2', '3', '4']) {
      const { totalResults, payments } = await find({ address: SHOP, page, limit: '3', sortDir: 'desc' });
      expect(totalResults).toBe(7);
      ids.push(...payments.map(({ paymentId }) => paymentId));
    }
    expect(ids).toEqual(facts.map(({ factId }) => `pay_${factId.slice(4)}`).sort((a, b) => (a < b ? 1 : -1)));
  });

  test('are neither agreements nor payments of other entities, and include zero amounts', async () => {
    const { payment, pay, find, places } = await setUp();
    const stranger = newPaidNetwork(store.db, await newEntity(store.db));
    const theirs = stranger.payment(10);
    await stranger.pay(20, [theirs]);
    const facts = [
      payment(10, { isSilent: true, isDust: true, fields: fieldsOf('0.00') }),
      payment(11, { isSilent: true, isDust: true, fields: { amountBase: '0' } }),
      payment(12, { kind: 'AgreementSignedUp' }),
      payment(13, { isSilent: true, isDust: true }),
      payment(14, { isSilent: true }),
    ];
    await pay(20, facts);
    expect(await places(facts, {})).toEqual([0, 1, 3, 4]);
    expect((await find({ amount: '0' })).totalResults).toBe(1);
    expect((await find({})).payments.map(({ isDust, isHistory }) => [isDust, isHistory]).sort()).toEqual([
      [false, true],
      [true, false],
      [true, false],
      [true, false],
    ]);
    expect(await places(facts, { q: theirs.transactionHash })).toEqual([]);
    expect(await places(facts, { q: theirs.factId })).toEqual([]);
  });

  test('have a state and confirmations that follow the levels of the network', async () => {
    const { payment, pay, step, find, places } = await setUp();
    const facts = [payment(10), payment(15), payment(19, { position: { ...at(19), blockS: 1_763_168_398 } })];
    await pay(20, facts, { safe: 15, final: 10 });
    const states = async () => (await find({})).payments.map(({ state, confirmations }) => [state, confirmations]);
    expect((await states()).sort()).toEqual([
      ['final', 11],
      ['safe', 6],
      ['seen', 2],
    ]);
    expect(await places(facts, { state: 'final' })).toEqual([0]);
    expect(await places(facts, { state: 'safe' })).toEqual([1]);
    expect(await places(facts, { state: 'seen' })).toEqual([2]);
    expect(await places(facts, { state: 'safe', networkId: '1' })).toEqual([]);
    const [, second, last] = facts;
    const key = { entityId: last?.entityId ?? '', factId: last?.factId ?? '' };
    const one = async () => (await find({ q: key.factId })).payments[0];
    expect(await one()).toMatchObject({ dateBlock: 1_763_168_398, blockNumber: 19 });
    await step(21, [{ change: 'lost', lostAtHead: 21, ...key }], { safe: 15, final: 10 });
    expect(await one()).toMatchObject({ state: 'lost', confirmations: null });
    await step(22, [{ change: 'moved', position: at(22, 'b'), ...key }], { safe: 15, final: 10 });
    expect(await one()).toMatchObject({ state: 'seen', confirmations: 1, dateBlock: null, blockNumber: 22 });
    await step(23, [{ change: 'lost', lostAtHead: 23, ...key }], { safe: 15, final: 10 });
    await step(24, [{ change: 'retracted', ...key }], { safe: 15, final: 10 });
    expect(await one()).toMatchObject({ state: 'retracted', confirmations: null, waitsFor: null });
    expect(await places(facts, { state: 'retracted' })).toEqual([2]);
    const disputed = { entityId: key.entityId, factId: second?.factId ?? '' };
    const evidence = { ...CONFIRMED, standing: 'disputed' } as const;
    await step(25, [{ change: 'judged', evidence, ...disputed }], { safe: 15, final: 10 });
    expect((await find({ q: disputed.factId })).payments[0]).toMatchObject({ state: 'seen', isDisputed: true });
    expect(await places(facts, { state: 'safe' })).toEqual([]);
    expect(await places(facts, { state: 'seen' })).toEqual([1]);
  });

  test('name the next finality that webhooks wait for, and when it is expected', async () => {
    const { entityId, networkId, payment, pay, step, find } = await setUp();
    for (const [path, event, finality] of [
      ['/now', 'TransferProcessed', null],
      ['/four', 'TransferProcessed', '4'],
      ['/final', 'TransferFinalized', null],
    ] as const) {
      await register(store.db, entityId, HOOK + path, [{ networkId, event }]);
      await setFinality(store.db, entityId, { postUrl: HOOK + path }, finality);
    }
    const blockS = Math.floor(Date.now() / 1000);
    await pay(10, [payment(10, { position: { ...at(10), blockS } })], { finalLagMs: 3_600_000 });
    const one = async () => (await find({})).payments[0];
    expect(await one()).toMatchObject({ waitsFor: { finality: '4', webhooks: 2 }, deliveries: { waiting: 1 } });
    const expected = (await one())?.waitsFor?.dateExpected ?? 0;
    expect(Math.abs(expected - Date.now() / 1000)).toBeLessThan(3_600);
    await step(13, [], { finalLagMs: 3_600_000 });
    expect((await one())?.waitsFor).toEqual({ finality: 'final', dateExpected: blockS + 3_600, webhooks: 1 });
    expect((await one())?.deliveries).toEqual({ delivered: 0, waiting: 2, failed: 0 });
    await step(40, [], { final: 20 });
    expect(await one()).toMatchObject({ state: 'final', waitsFor: null, deliveries: { waiting: 3 } });
  });

  test('are counted up to 10,000, and a page beyond that is refused with the limit and the way out', async () => {
    const { entityId, networkId, find } = await setUp();
    const numbers =
      store.engine === 'sqlite'
        ? 'recursive s (i) as (select 0 union all select i + 1 from s where i < 10000)'
        : 's (i) as (select i from generate_series(0, 10000) as g(i))';
    const insert = (last: number) =>
      store.db.transaction((queries) =>
        queries.run(
          `insert into facts (entity_id, id, network_id, state, revision, kind, is_silent, transaction_hash, fields,
             is_payment, payee, created_at_ms, changed_at_ms)
           with ${numbers} select $1, 'fct_' || cast(i + 100000 as text) || '${'a'.repeat(20)}', $2, 'final', 1,
             'Transfer', 1, '0x1', '{}', 1, 'till', i, i from s where i ${last === 0 ? '< 10000' : '= 10000'}`,
          [entityId, networkId],
        ),
      );
    await insert(0);
    for (const query of [{}, { address: 'till' }]) {
      const exact = await find({ ...query, page: '401' });
      expect([exact.totalResults, exact.isTotalExact, exact.payments.length]).toEqual([10_000, true, 0]);
    }
    await insert(1);
    for (const query of [{}, { address: 'till' }, { networkId: String(networkId) }]) {
      const first = await find(query);
      expect([first.totalResults, first.isTotalExact, first.payments.length]).toEqual([10_000, false, 25]);
      expect((await find({ ...query, page: '400' })).payments).toHaveLength(25);
      expect(await rejection(find({ ...query, page: '401' }))).toMatchObject({
        kind: 'page_too_deep',
        message: expect.stringMatching(/10000 .* since and until/),
      });
    }
    expect(await find({ networkId: '1' })).toEqual({ totalResults: 0, isTotalExact: true, payments: [] });
  });

  test('show exact amounts, the decimals of the token and addresses as the log has them', async () => {
    const { networkId, payment, pay, find } = await setUp();
    await saveTokens(store.db, networkId, new Map([[USDC, { decimals: 6, symbol: 'USDC' }]]));
    const amount = '115792089237316195423570985008687907853269984665640564039457584007913129639935';
    const large = payment(11, { fields: { ...fieldsOf(amount), note: 'x'.repeat(20_000) } });
    await pay(20, [payment(10), large]);
    const { payments } = await find({ q: '1.5' });
    expect(payments[0]).toMatchObject({
      ...{ networkId, network: `eip155:${networkId}`, origin: 'chain', revision: 1 },
      ...{
        amount: '1.5',
        amountBase: '1500000',
        token: { address: USDC, symbol: 'USDC', decimals: 6, isListed: false },
      },
      ...{ payer: PAYER, payee: SHOP, sourceId: 'src_1' },
    });
    const [other] = (await find({ q: amount })).payments;
    expect(other).toMatchObject({ amount, amountBase: null, payer: PAYER.toLowerCase() });
  });

  test('include held events about transfers, with the fields that the sender stated', async () => {
    const { entityId, networkId, find } = await setUp();
    const transactionHash = `0x${'7'.repeat(64)}`;
    const body = JSON.stringify({ amount: '25.00', payee: SHOP, token: 'USDC', payer: null });
    const held = { ...newEvent(entityId), networkId, heldFor: transactionHash, body };
    await accept(store.db, { ...held, event: 'TransferProcessed' });
    await accept(store.db, { ...held, event: 'AgreementSignedUp' });
    const { totalResults, payments } = await find({ q: transactionHash });
    expect(totalResults).toBe(1);
    expect(payments[0]).toMatchObject({
      ...{ origin: 'sender', state: 'waiting', amount: '25', payee: SHOP, payer: null, sourceId: null },
      ...{
        token: { address: 'USDC', symbol: null, decimals: null, isListed: false },
        blockNumber: null,
        confirmations: null,
      },
    });
  });
});
