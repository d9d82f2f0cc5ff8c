import { type DeliveryFilter, deliveryFilterSchema, type Redelivery } from '../../../contract/deliveries/redelivery.ts';
import { DomainError } from '../../../domain/errors.ts';
import { hexIn, hexOfId } from '../../../domain/ids.ts';
import { readNowMs } from '../../database/clock.ts';
import { type Database, type Dialect, longReadsOf, type Queries, type SqlUuid } from '../../database/database.ts';
import { Columns, entityKey, integer, json, nullable, readInteger, text } from '../../database/sql.ts';
import { newId } from '../../new-id.ts';
import { type Progress, type StepTools, startTask, type Task } from '../../tasks/tasks.ts';
import type { Change } from '../../tenants/audit.ts';
import { BLOCKED } from '../heads.ts';
import { headTable } from '../tables.ts';
import { countRedeliveringIn } from './count.ts';
import { findOutdated, queueAgain } from './redeliver.ts';
import { FIRST_ID, findShare } from './search.ts';

/** Sending many deliveries again: a row of `redeliveries` has the filter and the results, and a task queues the deliveries. */

/** An entity with more running redeliveries has to wait, so that its tasks stay few. */
const MAX_RUNNING = 100;

/** Stores a redelivery of all deliveries that match now. Later ones are not included. */
export async function startRedelivery(
  db: Database,
  entityId: string,
  filter: DeliveryFilter,
  change: Change,
): Promise<string> {
  const { total, untilMs } = await longReadsOf(db, entityId).snapshot(async (queries) => ({
    total: await countRedeliveringIn(queries, db.dialect, entityId, filter),
    untilMs: await readNowMs(queries, db.dialect),
  }));
  return db.transaction(async (queries) => {
    await requireFew(queries, entityKey(db.dialect, entityId));
    const redeliveryId = newId('rdl');
    await queries.run(
      `insert into redeliveries (entity_id, id, filter, total, until_ms, actor, created_at)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [entityId, redeliveryId, JSON.stringify(filter), total, untilMs, change.actor, change.nowS],
    );
    const subject = redeliveryKey(db.dialect, redeliveryId);
    const task = { kind: 'redeliver' as const, entityId, subject, phase: 'queueing', cursor: FIRST_ID };
    await startTask(queries, db.dialect, task);
    return redeliveryId;
  });
}

/** Concurrent transactions do not see each other's tasks, so each of them can exceed the limit by one. */
async function requireFew(queries: Queries, entity: SqlUuid): Promise<void> {
  const some = `from (select 1 from tasks where entity_id = $1 and kind = 'redeliver' limit ${MAX_RUNNING}) running`;
  const running = await readInteger(queries, 'count(*)', some, [entity]);
  if (running >= MAX_RUNNING) throw new DomainError('redeliveries_running', { limit: MAX_RUNNING });
}

/** The subject of the task. */
export function redeliveryKey({ bindUuid }: Dialect, redeliveryId: string): SqlUuid {
  return bindUuid(hexIn(redeliveryId));
}

const searchColumns = new Columns({ filter: json('filter', deliveryFilterSchema), untilMs: integer('until_ms') });

/** Queues the next share of a redelivery, oldest first. The cursor of the task is the last delivery that was read. */
export async function redeliverStep(tools: StepTools, task: Task): Promise<Progress | 'done'> {
  const { queries, dialect } = tools;
  const { entity, entityId, cursor: after, subject } = task;
  const redeliveryId = `rdl_${dialect.hexOf(subject)}`;
  const sql = `select ${searchColumns.list} from redeliveries where entity_id = $1 and id = $2`;
  const search = await searchColumns.get(queries, sql, [entityId, redeliveryId]);
  if (search === undefined) return 'done';
  const { found, readTo } = await findShare(queries, dialect, { entityId, ...search, after });
  const blocked = await readBlocked(queries, entity, found);
  // Deliveries to a paused endpoint are queued too. They are sent when the endpoint is resumed.
  const open = found.filter(({ webhookNo }) => ((blocked.get(webhookNo) ?? 0) & ~BLOCKED.paused) === 0);
  const outdated = await findOutdated(
    queries,
    dialect,
    entity,
    open.map(({ hex }) => dialect.bindUuid(hex)),
  );
  const targets = open
    .filter(({ hex }) => !outdated.has(hex))
    .map(({ hex, webhookNo }) => ({ id: dialect.bindUuid(hex), webhookNo }));
  const queued = targets.length === 0 ? 0 : await queueAgain(queries, dialect, entityId, targets, subject);
  await queries.run(
    `update redeliveries set seen = seen + $3, queued = queued + $4,
       finished_at = ${readTo === null ? `${dialect.nowMs} / 1000` : 'null'} where entity_id = $1 and id = $2`,
    [entityId, redeliveryId, found.length, queued],
  );
  if (queued > 0) tools.noteDue('anywhere');
  return readTo === null ? 'done' : { phase: task.phase, cursor: readTo, waitMs: 0 };
}

const blockedColumns = headTable.pick(['webhookNo', 'blocked']);

async function readBlocked(
  queries: Queries,
  entity: SqlUuid,
  found: readonly { webhookNo: number }[],
): Promise<Map<number, number>> {
  const from = 'from queue_heads where entity_id = $1 and webhook_no in';
  const numbers = found.map(({ webhookNo }) => webhookNo);
  const heads = await blockedColumns.allIn(queries, from, [entity], numbers);
  return new Map(heads.map(({ webhookNo, blocked }) => [webhookNo, blocked]));
}

const progressColumns = new Columns({
  status: text<Redelivery['status']>("case when finished_at is null then 'running' else 'finished' end"),
  totalResults: integer('total'),
  seen: integer('seen'),
  queued: integer('queued'),
  dateCreated: integer('created_at'),
  dateFinished: nullable(integer('finished_at')),
});

/** Rows of the redelivery in the queue. `sent` counts the rows whose redelivery was sent and whose schedule continues. */
const waitingColumns = new Columns({
  waiting: integer('count(*)'),
  sent: nullable(integer('sum(case when redeliver = 0 then 1 else 0 end)')),
});

/**
 * Completed rows of the redelivery. The index contains the status code of the last response, so that no row is read.
 */
const endedColumns = new Columns({
  ended: integer('count(*)'),
  delivered: nullable(integer('sum(case when status_code >= 200 and status_code < 300 then 1 else 0 end)')),
});

export function readRedelivery(db: Database, entityId: string, redeliveryId: string): Promise<Redelivery | null> {
  const { dialect } = db;
  const hex = hexOfId('rdl', redeliveryId);
  if (hex === null) return Promise.resolve(null);
  return longReadsOf(db, entityId).snapshot(async (queries) => {
    const progress = await progressColumns.get(
      queries,
      `select ${progressColumns.list} from redeliveries where entity_id = $1 and id = $2`,
      [entityId, redeliveryId],
    );
    if (progress === undefined) return null;
    const key = [entityKey(dialect, entityId), dialect.bindUuid(hex)];
    const where = 'where entity_id = $1 and redelivery_id = $2';
    const queued = await waitingColumns.get(queries, `select ${waitingColumns.list} from queue ${where}`, key);
    const record = await endedColumns.get(queries, `select ${endedColumns.list} from deliveries ${where}`, key);
    const { seen, ...shown } = progress;
    const [ended, delivered] = [record?.ended ?? 0, record?.delivered ?? 0];
    return {
      redeliveryId,
      ...shown,
      skipped: seen - shown.queued,
      sent: ended + (queued?.sent ?? 0),
      delivered,
      failed: ended - delivered,
      waiting: queued?.waiting ?? 0,
    };
  });
}
