import { expect, test } from 'bun:test';
import { explaining } from '../../../bench/store/explaining.ts';
import { paymentListQuerySchema } from '../../../src/contract/chain/payments.ts';
import { listPayments } from '../../../src/store/chain/payments/list.ts';
import type { Database, Queries } from '../../../src/store/database/database.ts';
import { newPaidNetwork, PAYER, SHOP, USDC } from '../../support/chain/paid-network.ts';
import { SQLITE_ONLY } from '../../support/requirements.ts';
import { alteredQueries, alteredStore, onSuiteEngine } from '../../support/stores.ts';
import { newEntity, register } from '../../support/webhooks.ts';

/** The index that leads to the payments of each query. */
const INDEXES: readonly [query: Record<string, string>, index: string][] = [
  [{}, 'payments_by_network (entity_id=? AND network_id=?'],
  [{ networkId: '9001' }, 'payments_by_network (entity_id=? AND network_id=?'],
  [{ state: 'final' }, 'payments_by_network (entity_id=? AND network_id=?'],
  [{ since: '1', until: '9000000000' }, 'payments_by_network (entity_id=? AND network_id=? AND created_at_ms>?'],
  [{ since: '1', networkId: '9001' }, 'payments_by_network (entity_id=? AND network_id=? AND created_at_ms>?'],
  ...['waiting', 'seen', 'safe', 'lost', 'retracted'].map((state): [Record<string, string>, string] => [
    { state, networkId: '9001' },
    'facts_by_state (entity_id=? AND state=?',
  ]),
  [{ q: `0x${'1'.repeat(64)}` }, 'facts_by_transaction (entity_id=? AND transaction_hash=?)'],
  [{ transactionHash: `0x${'1'.repeat(64)}`, networkId: '9001' }, 'facts_by_transaction (entity_id=? AND'],
  [{ q: SHOP }, 'payments_by_payee (entity_id=? AND network_id=? AND payee=?'],
  [{ address: PAYER, networkId: '9001' }, 'payments_by_payer (entity_id=? AND network_id=? AND payer=?'],
  [{ payer: PAYER, state: 'final' }, 'payments_by_payer (entity_id=? AND network_id=? AND payer=?'],
  [{ payee: SHOP, since: '1' }, 'payments_by_payee (entity_id=? AND network_id=? AND payee=? AND created_at_ms>?'],
  [{ token: USDC, networkId: '9001' }, 'payments_by_token (entity_id=? AND token=?'],
  [{ payee: SHOP, token: USDC }, 'payments_by_payee (entity_id=? AND network_id=? AND payee=?'],
  [{ payee: SHOP, amount: '1.5' }, 'payments_by_amount (entity_id=? AND amount=?'],
  [{ payee: SHOP, state: 'seen' }, 'facts_by_state (entity_id=? AND state=?'],
  [{ token: USDC, minAmount: '1', maxAmount: '2' }, 'payments_by_token (entity_id=? AND token=?'],
  [{ q: '1.5' }, 'payments_by_amount (entity_id=? AND amount=?'],
  [{ amount: '1.5', networkId: '9001' }, 'payments_by_amount (entity_id=? AND amount=?'],
  [{ transferId: 't-1' }, 'facts_by_transfer (entity_id=? AND transfer_id=?)'],
  [{ agreementId: 'a-1', networkId: '9001' }, 'facts_by_agreement (entity_id=? AND agreement_id=?)'],
  [{ invoiceId: `inv_${'a'.repeat(26)}` }, 'facts_by_invoice (entity_id=? AND invoice_id=?'],
];

/** The store, with a count of how often a snapshot has waited for it: statements that are sent together are one wait. */
function counted(db: Database): { db: Database; waits: () => number } {
  let [open, waits] = [0, 0];
  const count = <Args extends unknown[], Value>(call: (...args: Args) => Promise<Value>) => {
    return async (...args: Args): Promise<Value> => {
      if (open++ === 0) waits++;
      try {
        return await call(...args);
      } finally {
        open--;
      }
    };
  };
  const snapshot = <Value>(work: (queries: Queries) => Promise<Value>, entityId?: string) =>
    db.longReads.snapshot((queries) => {
      const all = count(queries.all.bind(queries)) as Queries['all'];
      const get = count(queries.get.bind(queries)) as Queries['get'];
      return work(alteredQueries(queries, { all, get }));
    }, entityId);
  return { db: alteredStore(db, { longReads: { ...db.longReads, snapshot } }), waits: () => waits };
}

onSuiteEngine('the list of payments', (store) => {
  // PostgreSQL plans by what it has counted, and rightly reads a table of a few rows.
  const onSqlite = test.skipIf(store.engine !== 'sqlite');

  onSqlite(`reads along an index, whatever it is asked ${SQLITE_ONLY}`, async () => {
    const entityId = await newEntity(store.db);
    const { payment, pay } = newPaidNetwork(store.db, entityId, 9_001);
    await pay(20, [payment(10, { transferId: 't-1', agreementId: 'a-1' })], { safe: 5 });
    const plans: string[] = [];
    const db = explaining(store.db, (plan) => plans.push(plan));
    for (const [query, index] of INDEXES) {
      plans.length = 0;
      await listPayments(db, entityId, paymentListQuerySchema.parse(query));
      const ofFacts = plans.filter((plan) => /\b(SCAN|SEARCH) facts\b/.test(plan));
      expect(`${JSON.stringify(query)}: ${ofFacts.join(', ')}`).toContain(index);
      expect(ofFacts.filter((plan) => plan.includes('SCAN'))).toEqual([]);
    }
  });

  test('waits for the store five times at most, and three times for a transaction without events', async () => {
    const entityId = await newEntity(store.db);
    const { networkId, payment, pay } = newPaidNetwork(store.db, entityId);
    const [history, told] = [payment(10, { isSilent: true }), payment(11)];
    await register(store.db, entityId, 'https://hooks.example.com/', [{ networkId, event: 'TransferProcessed' }]);
    await pay(20, [history, told]);
    const waitsFor = async (query: Record<string, string>) => {
      const { db, waits } = counted(store.db);
      const { payments } = await listPayments(db, entityId, paymentListQuerySchema.parse(query));
      expect(payments).not.toEqual([]);
      return waits();
    };
    expect(await waitsFor({ q: history.transactionHash })).toBeLessThanOrEqual(3);
    expect(await waitsFor({ q: told.transactionHash })).toBeLessThanOrEqual(4);
    for (const query of [{}, { state: 'seen' }, { limit: '1' }]) expect(await waitsFor(query)).toBeLessThanOrEqual(5);
  });

  test('has the newest of all networks first, on every page', async () => {
    const entityId = await newEntity(store.db);
    const expected: string[] = [];
    const networks = [1, 2, 3].map(() => newPaidNetwork(store.db, entityId));
    for (let round = 0; round < 3; round++) {
      for (const { payment, pay } of networks) {
        const fact = payment(10 + round);
        await pay(20 + round, [fact]);
        expected.unshift(`pay_${fact.factId.slice(4)}`);
        // Dates are in milliseconds.
        await Bun.sleep(2);
      }
    }
    const found: string[] = [];
    for (const page of ['1', '2', '3']) {
      const query = paymentListQuerySchema.parse({ page, limit: '4' });
      const { totalResults, payments } = await listPayments(store.db, entityId, query);
      expect(totalResults).toBe(9);
      found.push(...payments.map(({ paymentId }) => paymentId));
    }
    expect(found).toEqual(expected);
    const [, second] = networks;
    const ofSecond = paymentListQuerySchema.parse({ networkId: String(second?.networkId), sortDir: 'asc' });
    const { payments } = await listPayments(store.db, entityId, ofSecond);
    expect(payments.map(({ paymentId }) => paymentId)).toEqual(expected.toReversed().filter((_, at) => at % 3 === 1));
  });
});
