import type { DeliveryFilter, Redelivery } from '../../contract/deliveries.ts';
import type { DeliveryKind } from '../../domain/attempt.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Database, Queries } from '../database/database.ts';
import { Columns, integer, nullable, Parameters, type RowOf, text } from '../database/sql.ts';
import { newId } from '../new-id.ts';
import { deliveryTable, redeliveryTable } from '../tables.ts';
import type { Change } from '../tenants/audit.ts';
import { countDeliveries, deliverySource } from './read.ts';

/**
 * Redelivery. A request only raises `redeliver` and makes the delivery due. The dispatcher sends it like any other
 * attempt, within the limits of its destination.
 */

const ROWS_PER_TRANSACTION = 500;

/** A claimed delivery stays claimed: when its attempt is recorded, the count makes it due again. */
function requestRedelivery(db: Database): string {
  return `redeliver = redeliver + 1, due_ms = case when claimed = 1 then due_ms else ${db.dialect.nowMs} end`;
}

const TARGET = new Columns({
  kind: text<DeliveryKind>('d.kind'),
  webhookId: text('d.webhook_id'),
  suspendedAt: nullable(integer('w.suspended_at')),
  postUrl: nullable(text(`case when d.kind = 'alert' then n.notice_url else w.post_url end`)),
});

/** Returns false when there is no such delivery. */
export function redeliver(db: Database, entityId: string, deliveryId: string): Promise<boolean> {
  return db.transaction(async (queries) => {
    const target = await TARGET.get(
      queries,
      `select ${TARGET.list}
       from deliveries d join entities n on n.id = d.entity_id
       left join webhooks w on w.entity_id = d.entity_id and w.id = d.webhook_id and d.kind <> 'alert'
       where d.entity_id = $1 and d.id = $2`,
      [entityId, deliveryId],
    );
    if (target === undefined) return false;
    requireUrl(entityId, target);
    await queries.run(`update deliveries set ${requestRedelivery(db)} where entity_id = $1 and id = $2`, [
      entityId,
      deliveryId,
    ]);
    return true;
  });
}

function requireUrl(entityId: string, { kind, webhookId, suspendedAt, postUrl }: RowOf<typeof TARGET>): void {
  if (postUrl === null && kind === 'alert') throw new DomainError('alerts_off', { entityId });
  if (postUrl === null) throw new DomainError('webhook_deleted', { webhookId });
  if (suspendedAt !== null) throw new DomainError('webhook_suspended', { webhookId });
}

/** Starts a bulk redelivery of all deliveries that match now; those that are accepted later are not part of it. */
export function startRedelivery(
  db: Database,
  entityId: string,
  filter: DeliveryFilter,
  change: Change,
): Promise<string> {
  return db.transaction(async (queries) => {
    const redeliveryId = newId('rdl');
    const total = await countDeliveries(queries, entityId, filter);
    await queries.run(
      `insert into redeliveries (entity_id, id, filter, status, total, until_ms, actor, created_at)
       values ($1, $2, $3, 'running', $4, ${db.dialect.nowMs}, $5, $6)`,
      [entityId, redeliveryId, JSON.stringify(filter), total, change.actor, change.nowS],
    );
    return redeliveryId;
  });
}

const RUNNING = redeliveryTable.pick(['filter', 'untilMs', 'cursorCreatedAtMs', 'cursorId']);

/**
 * Queues the next deliveries of a bulk redelivery, oldest first, and returns whether there are more. Its row is the lock
 * and the cursor: when a process dies in the middle, another continues from there, and none is queued twice.
 */
export function continueRedelivery(db: Database, entityId: string, redeliveryId: string): Promise<boolean> {
  return db.transaction(async (queries) => {
    const running = await RUNNING.get(
      queries,
      `update redeliveries set status = status where entity_id = $1 and id = $2 and status = 'running'
       returning ${RUNNING.list}`,
      [entityId, redeliveryId],
    );
    if (running === undefined) return false;
    const part = await findNext(queries, entityId, running);
    const queued = part.length === 0 ? 0 : await queueAll(db, queries, entityId, redeliveryId, part);
    const last = part.at(-1);
    const more = part.length === ROWS_PER_TRANSACTION;
    await queries.run(
      `update redeliveries set seen = seen + $3, queued = queued + $4, cursor_created_at_ms = $5, cursor_id = $6,
         status = $7, finished_at = case when $7 = 'finished' then ${db.dialect.nowMs} / 1000 else null end
       where entity_id = $1 and id = $2`,
      [
        entityId,
        redeliveryId,
        part.length,
        queued,
        last?.createdAtMs ?? running.cursorCreatedAtMs,
        last?.deliveryId ?? running.cursorId,
        more ? 'running' : 'finished',
      ],
    );
    return more;
  });
}

const MATCH = deliveryTable.pick(['deliveryId', 'createdAtMs']);
type Match = RowOf<typeof MATCH>;

function findNext(queries: Queries, entityId: string, running: RowOf<typeof RUNNING>): Promise<Match[]> {
  const { where, parameters: filtered } = deliverySource(entityId, running.filter, []);
  const parameters = new Parameters(...filtered);
  return MATCH.all(
    queries,
    `select ${MATCH.list} from deliveries
     where ${where} and created_at_ms <= ${parameters.bind(running.untilMs)}
       and (created_at_ms, id) > (${parameters.bind(running.cursorCreatedAtMs)}, ${parameters.bind(running.cursorId)})
     order by created_at_ms, id limit ${ROWS_PER_TRANSACTION}`,
    parameters.values,
  );
}

function queueAll(
  db: Database,
  queries: Queries,
  entityId: string,
  redeliveryId: string,
  matches: readonly Match[],
): Promise<number> {
  const parameters = new Parameters(redeliveryId);
  const where = deliveryTable.where(parameters, { entityId, deliveryId: matches.map(({ deliveryId }) => deliveryId) });
  return queries.run(
    `update deliveries set ${requestRedelivery(db)}, redelivery_id = $1
     where ${where}
       and case when deliveries.kind = 'alert'
         then exists (select 1 from entities n where n.id = deliveries.entity_id and n.notice_url is not null)
         else exists (select 1 from webhooks w where w.entity_id = deliveries.entity_id
                        and w.id = deliveries.webhook_id and w.suspended_at is null) end`,
    parameters.values,
  );
}

const STARTED = redeliveryTable.pick(['entityId', 'redeliveryId']);

/**
 * For the background job, over all entities: the running redeliveries. Of each entity only the oldest, so that an entity
 * with a thousand of them delays no other.
 */
export function findRunning(db: Database): Promise<RowOf<typeof STARTED>[]> {
  return STARTED.all(
    db,
    `select entity_id as "entityId", min(id) as "redeliveryId" from redeliveries where status = 'running'
     group by entity_id order by min(created_at) limit 1000`,
  );
}

const REDELIVERY = redeliveryTable.pick(['status', 'total', 'seen', 'queued', 'dateCreated', 'dateFinished']);
const PROGRESS = new Columns({ sent: nullable(integer()), delivered: nullable(integer()) });

export function readRedelivery(db: Database, entityId: string, redeliveryId: string): Promise<Redelivery | null> {
  return db.snapshot(async (queries) => {
    const sql = `select ${REDELIVERY.list} from redeliveries where entity_id = $1 and id = $2`;
    const redelivery = await REDELIVERY.get(queries, sql, [entityId, redeliveryId]);
    if (redelivery === undefined) return null;
    const progress = await PROGRESS.get(
      queries,
      `select sum(case when redeliver = 0 then 1 else 0 end) as sent,
         sum(case when redeliver = 0 and status = 'delivered' then 1 else 0 end) as delivered
       from deliveries where entity_id = $1 and redelivery_id = $2`,
      [entityId, redeliveryId],
    );
    const { status, total, seen, queued, dateCreated, dateFinished } = redelivery;
    return {
      redeliveryId,
      status,
      totalResults: total,
      queued,
      skipped: seen - queued,
      sent: progress?.sent ?? 0,
      delivered: progress?.delivered ?? 0,
      dateCreated,
      dateFinished,
    };
  });
}
