import type { DeliveryFilter, Redelivery } from '../../contract/deliveries.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Database, Queries, SqlInteger } from '../database/database.ts';
import { NOTICE } from '../events/accept.ts';
import { newId } from '../new-id.ts';
import type { Change } from '../tenants/audit.ts';
import { countDeliveries, deliverySource } from './read.ts';

/**
 * Sending again. A request only counts up what the delivery owes (`redeliver`) and makes it due: the engine sends it in
 * its destination's turn and within its caps, by the same road as any other attempt.
 */

const ROWS_PER_TRANSACTION = 500;

/** Not while somebody holds the delivery: the settlement of that attempt finds the count and makes it due. */
function askForPost(db: Database): string {
  return `redeliver = redeliver + 1, due_ms = case when claimed = 1 then due_ms else ${db.dialect.nowMs} end`;
}

/** Answers false when there is no such delivery. */
export function redeliver(db: Database, entityId: string, deliveryId: string): Promise<boolean> {
  return db.transaction(async (queries) => {
    const row = await queries.get<TargetRow>(
      `select d.webhook_id, w.suspended_at,
         case when d.webhook_id = '${NOTICE}' then n.notice_url else w.post_url end as post_url
       from deliveries d join entities n on n.id = d.entity_id
       left join webhooks w on w.entity_id = d.entity_id and w.id = d.webhook_id
       where d.entity_id = $1 and d.id = $2`,
      [entityId, deliveryId],
    );
    if (row === undefined) return false;
    requireTarget(entityId, row);
    await queries.run(`update deliveries set ${askForPost(db)} where entity_id = $1 and id = $2`, [
      entityId,
      deliveryId,
    ]);
    return true;
  });
}

type TargetRow = { webhook_id: string; suspended_at: SqlInteger | null; post_url: string | null };

function requireTarget(entityId: string, { webhook_id: webhookId, suspended_at, post_url }: TargetRow): void {
  if (post_url === null && webhookId === NOTICE) throw new DomainError('alerts_off', { entityId });
  if (post_url === null) throw new DomainError('webhook_deleted', { webhookId });
  if (suspended_at !== null) throw new DomainError('webhook_suspended', { webhookId });
}

/** Notes what is to be sent again: all that match now, and nothing that comes later. */
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

type JobRow = {
  filter: string;
  status: string;
  until_ms: SqlInteger;
  cursor_created_at_ms: SqlInteger;
  cursor_id: string;
};

/**
 * Queues the next share of a redelivery, oldest first, and answers whether there is more. The row of the redelivery is
 * its lock and its cursor: whoever dies in the middle, the next one goes on from there, and nothing is queued twice.
 */
export function continueRedelivery(db: Database, entityId: string, redeliveryId: string): Promise<boolean> {
  return db.transaction(async (queries) => {
    const job = await queries.get<JobRow>(
      `update redeliveries set status = status where entity_id = $1 and id = $2 and status = 'running'
       returning filter, status, until_ms, cursor_created_at_ms, cursor_id`,
      [entityId, redeliveryId],
    );
    if (job === undefined) return false;
    const share = await findShare(queries, entityId, job);
    const queued = share.length === 0 ? 0 : await queueShare(db, queries, entityId, redeliveryId, share);
    const last = share.at(-1);
    const more = share.length === ROWS_PER_TRANSACTION;
    await queries.run(
      `update redeliveries set seen = seen + $3, queued = queued + $4, cursor_created_at_ms = $5, cursor_id = $6,
         status = $7, finished_at = case when $7 = 'finished' then ${db.dialect.nowMs} / 1000 else null end
       where entity_id = $1 and id = $2`,
      [
        entityId,
        redeliveryId,
        share.length,
        queued,
        Number(last?.created_at_ms ?? job.cursor_created_at_ms),
        last?.id ?? job.cursor_id,
        more ? 'running' : 'finished',
      ],
    );
    return more;
  });
}

type ShareRow = { id: string; created_at_ms: SqlInteger };

function findShare(queries: Queries, entityId: string, job: JobRow): Promise<ShareRow[]> {
  const { where, parameters } = deliverySource(entityId, JSON.parse(job.filter) as DeliveryFilter, []);
  const next = parameters.length;
  return queries.all<ShareRow>(
    `select id, created_at_ms from deliveries
     where ${where} and created_at_ms <= $${next + 1} and (created_at_ms, id) > ($${next + 2}, $${next + 3})
     order by created_at_ms, id limit ${ROWS_PER_TRANSACTION}`,
    [...parameters, Number(job.until_ms), Number(job.cursor_created_at_ms), job.cursor_id],
  );
}

function queueShare(
  db: Database,
  queries: Queries,
  entityId: string,
  redeliveryId: string,
  share: readonly ShareRow[],
): Promise<number> {
  return queries.run(
    `update deliveries set ${askForPost(db)}, redelivery_id = $2
     where entity_id = $1 and id in (${share.map((_, index) => `$${index + 3}`).join(', ')})
       and (exists (select 1 from webhooks w where w.entity_id = deliveries.entity_id
                      and w.id = deliveries.webhook_id and w.suspended_at is null)
            or exists (select 1 from entities n where n.id = deliveries.entity_id
                         and deliveries.webhook_id = '${NOTICE}' and n.notice_url is not null))`,
    [entityId, redeliveryId, ...share.map(({ id }) => id)],
  );
}

/**
 * The engine's own query: what was started and is not finished, by whomever. Of each entity only the oldest, so that one
 * with a thousand of them takes one turn like anybody else.
 */
export async function findRunning(db: Database): Promise<{ entityId: string; redeliveryId: string }[]> {
  const rows = await db.all<{ entity_id: string; id: string }>(
    `select entity_id, min(id) as id from redeliveries where status = 'running'
     group by entity_id order by min(created_at) limit 1000`,
  );
  return rows.map((row) => ({ entityId: row.entity_id, redeliveryId: row.id }));
}

type ProgressRow = {
  status: Redelivery['status'];
  total: SqlInteger;
  seen: SqlInteger;
  queued: SqlInteger;
  created_at: SqlInteger;
  finished_at: SqlInteger | null;
};

export function readRedelivery(db: Database, entityId: string, redeliveryId: string): Promise<Redelivery | null> {
  return db.snapshot(async (queries) => {
    const row = await queries.get<ProgressRow>(
      `select status, total, seen, queued, created_at, finished_at from redeliveries where entity_id = $1 and id = $2`,
      [entityId, redeliveryId],
    );
    if (row === undefined) return null;
    const progress = await queries.get<{ sent: SqlInteger | null; delivered: SqlInteger | null }>(
      `select sum(case when redeliver = 0 then 1 else 0 end) as sent,
         sum(case when redeliver = 0 and status = 'delivered' then 1 else 0 end) as delivered
       from deliveries where entity_id = $1 and redelivery_id = $2`,
      [entityId, redeliveryId],
    );
    return {
      redeliveryId,
      status: row.status,
      totalResults: Number(row.total),
      queued: Number(row.queued),
      skipped: Number(row.seen) - Number(row.queued),
      sent: Number(progress?.sent ?? 0),
      delivered: Number(progress?.delivered ?? 0),
      dateCreated: Number(row.created_at),
      dateFinished: row.finished_at === null ? null : Number(row.finished_at),
    };
  });
}
