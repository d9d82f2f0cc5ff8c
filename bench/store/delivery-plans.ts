import { deliveryListQuerySchema } from '../../src/contract/deliveries.ts';
import type { Database, Queries, SqlValue } from '../../src/store/database/database.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { listDeliveries } from '../../src/store/deliveries/read.ts';
import { type DeliverySeed, seedDeliveryRows } from '../../test/support/delivery-rows.ts';
import { stopPostgres } from '../../test/support/postgres.ts';
import { createTarget, ENGINES } from '../../test/support/stores.ts';
import { newEntity } from '../../test/support/webhooks.ts';

/**
 * How each engine reads the list of deliveries of an entity that has 100,000 of them: `npx bun bench/store/delivery-plans.ts`,
 * with `plans` behind it for the plans themselves.
 */

const DELIVERIES = 100_000;
const FIRST_S = 1_763_168_400;
const ROUNDS = 7;

/** One in a hundred failed, one in two hundred waits. */
const CASES: Record<string, Record<string, string>> = {
  'first page': {},
  'page 2,000': { page: '2000' },
  'last page': { page: '4000' },
  'one event': { eventId: 'evt_500' },
  'one webhook of ten': { webhookId: 'wh_3' },
  'a webhook without any': { webhookId: 'wh_none' },
  'one kind of three': { event: 'LatePayment' },
  'one network of four': { networkId: '1' },
  'a network without any': { networkId: '77' },
  failed: { status: 'failed' },
  'failed, last page': { status: 'failed', page: '40' },
  'failed at one webhook': { status: 'failed', webhookId: 'wh_3' },
  pending: { status: 'pending' },
  held: { status: 'held' },
  delivered: { status: 'delivered' },
  'delivered at one webhook': { status: 'delivered', webhookId: 'wh_3' },
  'delivered in an hour': { status: 'delivered', since: String(FIRST_S), until: String(FIRST_S + 3_600) },
  'an hour': { since: String(FIRST_S), until: String(FIRST_S + 3_600) },
  'an hour of one webhook': { webhookId: 'wh_3', since: String(FIRST_S), until: String(FIRST_S + 3_600) },
  'by next attempt': { sortBy: 'dateNextAttempt', sortDir: 'asc' },
  'by next attempt, last first': { sortBy: 'dateNextAttempt' },
  'by next attempt, page 2,000': { sortBy: 'dateNextAttempt', page: '2000' },
  'pending by next attempt': { sortBy: 'dateNextAttempt', status: 'pending' },
};

function deliveries(): DeliverySeed[] {
  return Array.from({ length: DELIVERIES }, (_, index) => {
    const status = index % 100 === 7 ? 'failed' : index % 200 === 9 ? 'pending' : 'delivered';
    const createdAtMs = FIRST_S * 1000 + index * 500;
    return {
      id: `dlv_${index.toString(16).padStart(32, '0')}`,
      eventId: `evt_${index >> 1}`,
      webhookId: `wh_${(index >> 3) % 10}`,
      event: ['LatePayment', 'TransferCreated', 'TransferFinalized'][index % 3] ?? '',
      networkId: [1, 10, 137, 8453][(index >> 2) % 4] ?? 1,
      postUrl: 'https://example.com/hooks/paybell/that/is/as/long/as/most',
      status,
      attempts: 1,
      createdAtMs,
      nextAttemptMs: status === 'pending' ? createdAtMs + 60_000 : null,
      deliveredAtMs: status === 'delivered' ? createdAtMs + 80 : null,
      lastStatusCode: 200,
      lastError: null,
    };
  });
}

const PREFIX = {
  sqlite: 'explain query plan',
  postgres: 'explain (costs off, analyze, timing off, summary off, buffers off)',
};

async function explain(db: Database, queries: Queries, sql: string, params: readonly SqlValue[] = []): Promise<void> {
  const rows = await queries.all<Record<string, string>>(`${PREFIX[db.engine]} ${sql}`, params);
  for (const row of rows) console.log(`    ${row.detail ?? row['QUERY PLAN']}`);
}

async function printPlans(db: Database, work: (explaining: Database) => Promise<unknown>): Promise<void> {
  const snapshot = <Value>(read: (queries: Queries) => Promise<Value>) =>
    db.snapshot((queries) =>
      read({
        run: (sql, params) => queries.run(sql, params),
        async all(sql, params) {
          await explain(db, queries, sql, params);
          return queries.all(sql, params);
        },
        async get(sql, params) {
          await explain(db, queries, sql, params);
          return queries.get(sql, params);
        },
      }),
    );
  await work({ ...db, snapshot } as Database);
}

for (const engine of ENGINES) {
  const { target, remove } = await createTarget(engine);
  const db = await openDatabase(target);
  await migrate(db);
  const entityId = await newEntity(db);
  await seedDeliveryRows(db, entityId, deliveries());
  // Another entity as large, so that a planner cannot take the table for the entity.
  await seedDeliveryRows(db, await newEntity(db), deliveries());
  if (engine === 'postgres') await db.transaction((queries) => queries.run('analyze deliveries'));
  for (const [name, given] of Object.entries(CASES)) {
    const query = deliveryListQuerySchema.parse(given);
    const tookMs: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const startedAtMs = performance.now();
      await listDeliveries(db, entityId, query);
      tookMs.push(performance.now() - startedAtMs);
    }
    const { totalResults } = await listDeliveries(db, entityId, query);
    const medianMs = tookMs.sort((a, b) => a - b)[ROUNDS >> 1] ?? 0;
    console.log(`${engine.padEnd(9)} ${name.padEnd(30)} ${medianMs.toFixed(1).padStart(7)} ms  of ${totalResults}`);
    if (process.argv.includes('plans'))
      await printPlans(db, (explaining) => listDeliveries(explaining, entityId, query));
  }
  await db.close();
  remove();
}
await stopPostgres();
