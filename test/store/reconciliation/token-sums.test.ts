import { beforeEach, expect, test } from 'bun:test';
import { explaining } from '../../../bench/store/explaining.ts';
import type { Decoder } from '../../../src/chain/evm/decode/decoder.ts';
import type { FoundFact } from '../../../src/domain/chain/facts.ts';
import { RETRACTION } from '../../../src/domain/event-kinds.ts';
import { destinationKey } from '../../../src/domain/post-url.ts';
import { DecimalSum } from '../../../src/domain/reconciliation/decimal-sum.ts';
import type { SqlValue } from '../../../src/store/database/database.ts';
import { entityKey, readInteger } from '../../../src/store/database/sql.ts';
import { claimDeliveries } from '../../../src/store/deliveries/claim/claim.ts';
import { recordAttempts } from '../../../src/store/deliveries/record/record-attempts.ts';
import { type PaymentScope, sumTokens } from '../../../src/store/reconciliation/token-sums.ts';
import { GENESIS_S } from '../../support/chain/model-chain.ts';
import { modelDecoder } from '../../support/chain/model-decoder.ts';
import { at, newPaidNetwork, PAYER, SHOP, USDC } from '../../support/chain/paid-network.ts';
import { newStoredNetwork } from '../../support/chain/stored-network.ts';
import { completeAll, HOOK, respondedWith } from '../../support/deliveries.ts';
import { SQLITE_ONLY } from '../../support/requirements.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { runTasks } from '../../support/tasks.ts';
import { until } from '../../support/until.ts';
import { newEntity, register } from '../../support/webhooks.ts';

const DAY_S = 86_400;
/** The beginning of a day. */
const DAY = 20_000 * DAY_S;
const EURC = `0x${'e'.repeat(40)}`;
const NONE = { sent: '0', acknowledged: '0', retracted: '0', net: '0', missing: '0', unacknowledgedRetractions: '0' };

onSuiteEngine('the payments of a day by token', (store) => {
  let entityId: string;
  let network: ReturnType<typeof newPaidNetwork>;

  beforeEach(async () => {
    entityId = await newEntity(store.db);
    network = newPaidNetwork(store.db, entityId);
    await register(store.db, entityId, HOOK, [{ networkId: network.networkId, event: 'TransferProcessed' }]);
  });

  const scopeOf = (startS: number, more: Partial<PaymentScope> = {}): PaymentScope => ({
    ...{ entityId, endpointNo: undefined, networkId: undefined },
    ...{ sinceMs: startS * 1000, untilMs: (startS + DAY_S) * 1000, ...more },
  });
  const read = async (startS = DAY, more: Partial<PaymentScope> = {}) =>
    (await sumTokens(store.db, scopeOf(startS, more))).tokens.map(({ networkId: _, payments, ...sums }) => sums);

  const paid = (blockNumber: number, blockS: number, amount: string, more: Partial<FoundFact> = {}) =>
    network.payment(blockNumber, {
      position: { ...at(blockNumber), blockS },
      fields: { amount, token: USDC, payer: PAYER, payee: SHOP },
      ...more,
    });

  const sumOf = (token: string, sums: Partial<Record<string, string>>) => ({
    ...{ token, onChain: '0', withoutAmount: 0 },
    ...NONE,
    ...sums,
  });

  test.skipIf(store.engine !== 'sqlite')(`are read along the dates of their blocks ${SQLITE_ONLY}`, async () => {
    const plans: string[] = [];
    await sumTokens(
      explaining(store.db, (plan) => plans.push(plan)),
      scopeOf(DAY),
    );
    expect(plans.join()).toContain('payments_by_block_date (entity_id=? AND block_s>? AND block_s<?)');
  });

  test('leave out a retracted payment: 1 and 2 with 2 retracted are 1', async () => {
    const { db } = store;
    const [kept, gone] = [paid(50, DAY, '1'), paid(51, DAY + DAY_S - 1, '2')];
    await network.pay(51, [kept, gone]);
    expect(await read()).toEqual([sumOf(USDC, {})]);
    await completeAll(db, entityId, 'delivered');
    expect(await read()).toEqual([sumOf(USDC, { sent: '3', acknowledged: '3', net: '3' })]);
    await network.step(52, [{ change: 'lost', ...gone, lostAtHead: 52 }]);
    await network.step(60, [{ change: 'retracted', ...gone }], { final: 50 });
    const open = { onChain: '1', sent: '3', acknowledged: '1', retracted: '2', net: '1' };
    expect(await read()).toEqual([sumOf(USDC, { ...open, unacknowledgedRetractions: '2' })]);
    await runTasks(db);
    expect(await read()).toEqual([sumOf(USDC, { ...open, unacknowledgedRetractions: '2' })]);
    await completeAll(db, entityId, 'delivered');
    expect(await read()).toEqual([sumOf(USDC, open)]);
    const [retraction] = await db.all<{ body: string }>(
      `select body from events where event = '${RETRACTION}' and network_id = $1`,
      [network.networkId],
    );
    expect(JSON.parse(retraction?.body ?? '{}')).toMatchObject({
      ...{ amount: '2', token: USDC, paymentId: gone.factId.replace('fct_', 'pay_') },
    });

    // It returns, on the next day: the present revision alone counts, on the day of its block.
    const position = { ...at(61), blockS: DAY + DAY_S };
    await network.step(61, [{ change: 'again', ...gone, position }], { final: 50 });
    await completeAll(db, entityId, 'delivered');
    expect(await read()).toEqual([sumOf(USDC, { onChain: '1', sent: '1', acknowledged: '1', net: '1' })]);
    expect(await read(DAY + DAY_S)).toEqual([sumOf(USDC, { sent: '2', acknowledged: '2', net: '2' })]);
  });

  test('have a retraction that no receiver needs in no sum', async () => {
    const gone = paid(51, DAY, '2');
    await network.pay(51, [gone]);
    await network.step(52, [{ change: 'lost', ...gone, lostAtHead: 52 }]);
    await network.step(60, [{ change: 'retracted', ...gone }]);
    await runTasks(store.db);
    expect(await read()).toEqual([sumOf(USDC, {})]);
  });

  test('are exact, by token and network, without dust, held events and other days', async () => {
    const silent = { isSilent: true };
    await network.pay(
      60,
      [
        paid(50, DAY, '1234567.000000000000000001'),
        paid(51, DAY + 1, '0.000000000000000001'),
        paid(52, DAY + 2, '7', { fields: { amount: '7', token: EURC }, ...silent }),
        paid(53, DAY + 3, '5', { isDust: true, isSilent: true }),
        paid(54, DAY - 1, '3'),
        paid(55, DAY + DAY_S, '4'),
        paid(56, DAY + 4, '', { fields: { amountBase: '12', token: USDC } }),
        network.payment(57),
      ],
      { final: 60 },
    );
    const other = newPaidNetwork(store.db, entityId);
    await other.pay(60, [other.payment(50, { position: { ...at(50), blockS: DAY } })], { final: 60 });
    await completeAll(store.db, entityId, 'delivered');
    const amount = '1234567.000000000000000002';
    expect(await read(DAY, { networkId: network.networkId })).toEqual([
      { ...sumOf(USDC, { onChain: amount, sent: amount, acknowledged: amount, net: amount }), withoutAmount: 1 },
      sumOf(EURC, { onChain: '7' }),
    ]);
    expect((await read()).map(({ onChain }) => onChain)).toEqual([amount, '7', '1.5']);
    const today = Math.floor(Date.now() / 1000 / DAY_S) * DAY_S;
    const days = await Promise.all([today - DAY_S, today].map((startS) => sumTokens(store.db, scopeOf(startS))));
    expect(days.reduce((sum, { undatedPayments }) => sum + undatedPayments, 0)).toBe(1);
  });

  test('name a final payment that a webhook wants and that has no event', async () => {
    const { db } = store;
    const [first, later] = [paid(50, DAY, '1'), paid(51, DAY, '2')];
    await network.pay(60, [first, later], { final: 60 });
    await completeAll(db, entityId, 'delivered');
    const which = 'where entity_id = $1 and fact_id = $2';
    await db.transaction((queries) => queries.run(`delete from fact_events ${which}`, [entityId, later.factId]));
    expect(await read()).toEqual([sumOf(USDC, { onChain: '3', sent: '1', acknowledged: '1', net: '1', missing: '2' })]);
    // As if it had been seen before the webhook was registered.
    const early = 'update facts set seen_revision = 0 where entity_id = $1 and id = $2';
    await db.transaction((queries) => queries.run(early, [entityId, later.factId]));
    expect(await read()).toMatchObject([{ missing: '0' }]);
  });

  test('are of one endpoint, whatever happens at the others', async () => {
    const { db } = store;
    const down = 'https://down.example.com/hook';
    await register(db, entityId, down, [{ networkId: network.networkId, event: 'TransferProcessed' }]);
    await network.pay(60, [paid(50, DAY, '2.5')], { final: 60 });
    const { claimed } = await claimDeliveries(db, [{ destination: destinationKey(entityId, HOOK), most: 10 }], 60_000);
    const next = { status: 'delivered', steps: 1, delayMs: null, suspend: null } as const;
    const attempts = claimed.map((delivery) => ({ delivery, startedAtMs: 0, outcome: respondedWith(200), next }));
    await db.transaction((queries) => recordAttempts(queries, db.dialect, attempts));
    const endpoints = await db.all<{ no: number | string; post_url: string }>(
      'select no, post_url from endpoints where entity_id = $1',
      [entityKey(db.dialect, entityId)],
    );
    const noOf = (url: string) => Number(endpoints.find(({ post_url }) => post_url === url)?.no);
    const of = async (url: string) => (await read(DAY, { endpointNo: noOf(url) }))[0];
    expect(await of(HOOK)).toMatchObject({
      onChain: '2.5',
      sent: '2.5',
      acknowledged: '2.5',
      net: '2.5',
      missing: '0',
    });
    expect(await of(down)).toMatchObject({ onChain: '2.5', sent: '0', acknowledged: '0', net: '0', missing: '0' });
    expect(await read()).toMatchObject([{ sent: '2.5', acknowledged: '0' }]);
  });

  test('equal the chain on both days around midnight, after reorgs that drop, move and bring back payments', async () => {
    const { db } = store;
    // Block 53 is the first one of the second day.
    const { networkId, tenant, chain, payment, follow, followBlocks, acceptFacts } = await newStoredNetwork(db, 1, {
      decoder: withAmounts,
      blockTimeS: 120,
    });
    const settle = async () => {
      await acceptFacts();
      await runTasks(db);
      await completeAll(db, tenant.entityId, 'delivered');
      await acceptFacts();
    };
    const blocks = Array.from({ length: 18 }, () => [payment(), payment()]);
    for (const [index, transactions] of blocks.entries()) {
      chain.mine(transactions);
      await follow(1);
      if (index % 6 !== 5) continue;
      await settle();
      // Of the newest 5 blocks, one payment is dropped, one comes back later, and the others move.
      const [first = [], second = []] = blocks.slice(index - 4, index + 1);
      const others = blocks.slice(index - 2, index + 1).flat();
      const [late] = second;
      chain.fork(5, [[], [], others.slice(0, 3), [...first.slice(1), ...others.slice(3)], second.slice(1), []]);
      await followBlocks(6);
      await settle();
      chain.mine(late === undefined ? [] : [late]);
      await follow(1);
      await settle();
    }
    await followBlocks(80);
    const left = (table: string, which: string, entity: SqlValue) =>
      readInteger(db, 'count(*)', `from ${table} where entity_id = $1 ${which}`, [entity]);
    await until('everything is delivered', async () => {
      await settle();
      const entity = entityKey(db.dialect, tenant.entityId);
      const waiting = await left('fact_events', 'and event_no is null', tenant.entityId);
      return waiting + (await left('tasks', '', entity)) + (await left('queue', '', entity)) === 0;
    });
    const start = Math.floor(GENESIS_S / DAY_S) * DAY_S;
    const days = new Map<number, DecimalSum>();
    for (const { blockNumber, data } of chain.logs()) {
      const day = Math.floor((GENESIS_S + blockNumber * 120) / DAY_S) * DAY_S;
      const sum = days.get(day) ?? new DecimalSum();
      sum.add(amountOf(data));
      days.set(day, sum);
    }
    expect([...days.keys()]).toEqual([start, start + DAY_S]);
    for (const [day, expected] of days) {
      const [sums] = (await sumTokens(db, { ...scopeOf(day), entityId: tenant.entityId, networkId })).tokens;
      const amount = expected.toString();
      expect(sums).toMatchObject({ onChain: amount, net: amount, acknowledged: amount });
      expect(sums).toMatchObject({ missing: '0', unacknowledgedRetractions: '0', withoutAmount: 0 });
    }
  });
});

/** Amounts with up to six decimals. */
function amountOf(data: string): string {
  return `${Number.parseInt(data.slice(-8), 16)}.000001`;
}

/** The model, with the amount of each log and the time of its block. */
const withAmounts: Decoder = {
  ...modelDecoder,
  decode: async (logs, sources, options) => {
    const facts = await modelDecoder.decode(logs, sources, options);
    return facts.map((fact) => {
      const log = logs.find(({ transactionHash }) => transactionHash === fact.transactionHash);
      const blockS = GENESIS_S + fact.position.blockNumber * 120;
      const fields = { token: USDC, amount: amountOf(log?.data ?? '0x0') };
      return { ...fact, fields, position: { ...fact.position, blockS } };
    });
  },
};
