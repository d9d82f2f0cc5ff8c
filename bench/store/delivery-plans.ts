import { deliveryListQuerySchema } from '../../src/contract/deliveries.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { listDeliveries } from '../../src/store/deliveries/read.ts';
import { type DeliverySeed, seedDeliveryRows } from '../../test/support/delivery-rows.ts';
import { stopPostgres } from '../../test/support/postgres.ts';
import { createTarget, ENGINES } from '../../test/support/stores.ts';
import { newEntity } from '../../test/support/webhooks.ts';
import { median } from '../harness/rounds.ts';
import { explaining } from './explaining.ts';

/**
 * Times the list of deliveries of an entity with 100,000 of them on each engine: `npx bun bench/store/delivery-plans.ts`.
 * With the argument `plans` it also prints the query plans.
 */

const DELIVERIES = 100_000;
const FIRST_S = 1_763_168_400;
const ROUNDS = 7;

/** One in a hundred deliveries failed, one in two hundred is pending. */
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

for (const engine of ENGINES) {
  const { target, remove } = await createTarget(engine);
  const db = await openDatabase(target);
  await migrate(db);
  const entityId = await newEntity(db);
  await seedDeliveryRows(db, entityId, deliveries());
  // A second entity of the same size, so that a scan of the table is not a scan of the entity.
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
    const ms = median(tookMs).toFixed(1).padStart(7);
    console.log(`${engine.padEnd(9)} ${name.padEnd(30)} ${ms} ms, ${totalResults} in total`);
    if (process.argv.includes('plans')) {
      await listDeliveries(
        explaining(db, (line) => console.log(`    ${line}`)),
        entityId,
        query,
      );
    }
  }
  await db.close();
  remove();
}
await stopPostgres();
