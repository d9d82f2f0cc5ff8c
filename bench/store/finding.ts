import { parseArgs } from 'node:util';
import { SQL } from 'bun';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { deliveryListQuerySchema } from '../../src/contract/deliveries.ts';
import { eventListQuerySchema } from '../../src/contract/events/accepted-event.ts';
import type { Database, Queries } from '../../src/store/database/database.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { entityKey, subjectKey } from '../../src/store/database/sql.ts';
import { countStatuses, listDeliveries } from '../../src/store/deliveries/read.ts';
import { listEvents } from '../../src/store/events/read.ts';
import { stopPostgres } from '../../test/support/postgres.ts';
import { createTarget, ENGINES } from '../../test/support/stores.ts';
import { newEntity } from '../../test/support/webhooks.ts';
import { fillDeliveries } from './many-deliveries.ts';

/**
 * What a support desk asks of one entity with a million deliveries: the deliveries of a transfer, of an agreement and of a kind, the
 * events that matched no webhook, and how many deliveries are in each state. Of several rounds the best counts: other work of
 * the machine is not measured here.
 * `npx bun bench/store/finding.ts --deliveries 1000000 --unmatched 300000 --store postgres`
 */

const { values } = parseArgs({
  options: {
    deliveries: { type: 'string', default: '1000000' },
    unmatched: { type: 'string', default: '300000' },
    rounds: { type: 'string', default: '7' },
    store: { type: 'string' },
  },
});
const DELIVERIES = Number(values.deliveries);
const UNMATCHED = Number(values.unmatched);
const ROUNDS = Number(values.rounds);
const GOAL_MS = 50;

const TRANSFER = 'trf_500';
const AGREEMENT = 'agr_500';

/** Every event is about a transfer and half of them about an agreement; the newest ones of all matched no webhook. */
async function nameSubjects(queries: Queries, { engine, dialect }: Database, entityId: string): Promise<void> {
  const entity = entityKey(dialect, entityId);
  const hash = engine === 'sqlite' ? 'random() % 2000000000' : 'cast((random() - 0.5) * 4000000000 as int)';
  await queries.run(
    `update events set transfer_key = ${hash}, agreement_key = case when created_at_ms % 2 = 0 then ${hash} end
     where entity_id = $1`,
    [entity],
  );
  await queries.run(
    `update events set transfer_key = $2, agreement_key = $3, body = $4
     where entity_id = $1 and no = (select no from events where entity_id = $1 order by no limit 1 offset ${DELIVERIES / 2})`,
    [
      entity,
      subjectKey(TRANSFER),
      subjectKey(AGREEMENT),
      JSON.stringify({ transferId: TRANSFER, agreementId: AGREEMENT }),
    ],
  );
  await queries.run(
    `update events set deliveries = 0 where entity_id = $1
     and no >= (select no from events where entity_id = $1 order by no desc limit 1 offset ${UNMATCHED - 1})`,
    [entity],
  );
  await queries.run(
    `insert into queue_counts (entity_id, webhook_no, shard, waiting, retrying, undelivered) values ($1, 0, 0, 0, 0, ${UNMATCHED})`,
    [entity],
  );
}

async function time(read: () => Promise<number>): Promise<{ ms: number; total: number }> {
  const tookMs: number[] = [];
  let total = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const startedAtMs = performance.now();
    total = await read();
    tookMs.push(performance.now() - startedAtMs);
  }
  return { ms: Math.min(...tookMs), total };
}

async function measure(db: Database, entityId: string): Promise<void> {
  const deliveries = async (given: Record<string, string>) =>
    (await listDeliveries(db, entityId, deliveryListQuerySchema.parse(given))).totalResults;
  const events = async (given: Record<string, string>) =>
    (await listEvents(db, entityId, eventListQuerySchema.parse(given))).totalResults;
  const since = String(Math.floor(Date.now() / 1000) - 86_400);
  const reads: Record<string, () => Promise<number>> = {
    'deliveries of a transfer': () => deliveries({ q: TRANSFER }),
    'deliveries of an agreement': () => deliveries({ q: AGREEMENT }),
    'deliveries of a transfer that is not there': () => deliveries({ q: 'trf_none' }),
    'deliveries of a host': () => deliveries({ q: 'shop.example.com' }),
    'deliveries of a kind of event': () => deliveries({ event: 'TransferCreated' }),
    'failed deliveries of a kind of event': () => deliveries({ event: 'TransferCreated', status: 'failed' }),
    'deliveries by state': async () => (await countStatuses(db, entityId, {})).total,
    'deliveries by state, one day': async () => (await countStatuses(db, entityId, { since: Number(since) })).total,
    'events without a webhook': () => events({ matched: 'false' }),
    'events without a webhook, one of them': () => events({ matched: 'false', limit: '1' }),
    'events without a webhook, one day': () => events({ matched: 'false', since }),
    'events without a webhook, one network': () => events({ matched: 'false', networkId: '137' }),
    'events with a webhook': () => events({ matched: 'true' }),
    'all events': () => events({}),
  };
  const rows: string[][] = [];
  let slow = 0;
  for (const [name, read] of Object.entries(reads)) {
    const { ms, total } = await time(read);
    if (ms > GOAL_MS) slow++;
    rows.push([name, String(total), ms.toFixed(1)]);
  }
  printTable(['read', 'matches', 'ms'], rows, '');
  printLine(`${slow} of ${rows.length} above ${GOAL_MS} ms on ${db.engine}\n`);
}

for (const engine of ENGINES.filter((name) => values.store === undefined || values.store === name)) {
  const { target, remove } = await createTarget(engine);
  const db = await openDatabase(target);
  await migrate(db);
  const entityId = await newEntity(db);
  await fillDeliveries(db, entityId, DELIVERIES, (done) => process.stderr.write(`\r${done}   `));
  await db.transaction(
    async (queries) => {
      for (const statement of db.dialect.allowLongTransaction) await queries.run(statement);
      await nameSubjects(queries, db, entityId);
    },
    { deadlineMs: 600_000 },
  );
  if (target.engine === 'postgres') {
    const connection = new SQL(target.url, { max: 1 });
    // Autovacuum would have done this by the time of the first request.
    await connection.unsafe('vacuum analyze');
    await connection.close();
  } else await db.checkpoint();
  await measure(db, entityId);
  await db.close();
  remove();
}
await stopPostgres();
process.exit(0);
