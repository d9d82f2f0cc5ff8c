import { type DeliveryFilter, deliveryFilterSchema, type Redelivery } from '../../contract/deliveries.ts';
import { DomainError } from '../../domain/errors.ts';
import { hexOfId } from '../../domain/ids.ts';
import { readNowMs } from '../database/clock.ts';
import type { Database, Dialect, Queries, SqlInteger, SqlUuid, SqlValue } from '../database/database.ts';
import { chunks, entityKey, valuesList } from '../database/sql.ts';
import { newId } from '../new-id.ts';
import type { Change } from '../tenants/audit.ts';
import { CountChanges, STORED_BYTES } from './counts/counts.ts';
import { BLOCKED, wakeHeads } from './heads.ts';
import { resolveScope, type Scope } from './list/scope.ts';
import { sourcesOf } from './list/sources.ts';
import { countIn } from './read.ts';

/**
 * Sending again. A delivery that waits is asked for one more request (`redeliver`); a completed one goes back into the
 * queue with the status that it had (`recorded`). The dispatcher sends both within the limits of their destination, like
 * any other attempt.
 */

const ROWS_PER_TRANSACTION = 500;

/** Returns false when there is no such delivery. */
export function redeliver(db: Database, entityId: string, deliveryId: string): Promise<boolean> {
  const { dialect } = db;
  const hex = hexOfId('dlv', deliveryId);
  if (hex === null) return Promise.resolve(false);
  return db.transaction(async (queries) => {
    const entity = entityKey(dialect, entityId);
    const id = dialect.bindUuid(hex);
    const row = await queries.get<{ webhook_no: SqlInteger; webhook_id: string; blocked: SqlInteger }>(
      `select h.webhook_no, h.webhook_id, h.blocked
       from (select webhook_no from queue where entity_id = $1 and id = $2
             union all select webhook_no from deliveries where entity_id = $1 and id = $2) d
       cross join queue_heads h where h.entity_id = $1 and h.webhook_no = d.webhook_no limit 1`,
      [entity, id],
    );
    if (row === undefined) return false;
    const webhookNo = Number(row.webhook_no);
    requireOpen(entityId, { webhookNo, webhookId: row.webhook_id, blocked: Number(row.blocked) });
    // None where retention has removed it meanwhile.
    return (await queueAgain(queries, dialect, entityId, [{ id, webhookNo }], null)) > 0;
  });
}

function requireOpen(entityId: string, head: { webhookNo: number; webhookId: string; blocked: number }): void {
  const { webhookNo, webhookId, blocked } = head;
  if ((blocked & BLOCKED.deleted) !== 0) {
    throw webhookNo < 0
      ? new DomainError('alerts_off', { entityId })
      : new DomainError('webhook_deleted', { webhookId });
  }
  if ((blocked & BLOCKED.suspended) !== 0) throw new DomainError('webhook_suspended', { webhookId });
}

type Target = { id: SqlUuid; webhookNo: number };

/** In the transaction of the caller, who has seen that their webhooks take deliveries. Returns how many it queued. */
async function queueAgain(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  targets: readonly Target[],
  redeliveryId: SqlUuid | null,
): Promise<number> {
  const entity = entityKey(dialect, entityId);
  const nowMs = await readNowMs(queries, dialect);
  const counts = new CountChanges(dialect, 'completion');
  let queued = 0;
  for (const chunk of chunks(targets)) {
    const which = `entity_id = $1 and id in ${valuesList(1, chunk.length, 3)}`;
    const parameters: SqlValue[] = [entity, nowMs, redeliveryId, ...chunk.map(({ id }) => id)];
    // First, so that the statements below agree on where each delivery is: another redelivery may be moving it into the
    // queue, and retention may be removing it.
    await queries.all(
      `select id from deliveries where entity_id = $1 and id in ${valuesList(1, chunk.length, 1)}
       order by id ${dialect.lockRow}`,
      [entity, ...chunk.map(({ id }) => id)],
    );
    // Not while an instance holds the delivery: recording that attempt finds the count and makes it due.
    queued += await queries.run(
      `update queue set redeliver = redeliver + 1, redelivery_id = coalesce($3, redelivery_id),
         scheduled_ms = case when recorded is null then coalesce(scheduled_ms, due_ms) end,
         due_ms = case when lease_ms > $2 then due_ms else $2 end
       where ${which}`,
      parameters,
    );
    // The only attempt of a completed delivery is in its record, which is about to go.
    const logged = await queries.all<{ bytes: SqlInteger }>(
      `insert into attempts (entity_id, delivery_id, attempt, kind, post_url, started_at_ms, duration_ms, status_code, error,
         response)
       select d.entity_id, d.id, 1, case when d.test is null then 'first' else 'test' end, e.post_url, d.started_at_ms,
         d.duration_ms, d.status_code, d.error, d.response
       from deliveries d join endpoints e on e.entity_id = d.entity_id and e.no = coalesce(d.sent_to_no, d.endpoint_no)
       where d.entity_id = $1 and d.id in ${valuesList(1, chunk.length, 1)} and d.started_at_ms is not null
       on conflict (entity_id, delivery_id, attempt) do nothing returning ${STORED_BYTES.attempt} as bytes`,
      [entity, ...chunk.map(({ id }) => id)],
    );
    queued += await queries.run(
      `insert into queue (entity_id, id, webhook_no, endpoint_no, sent_to_no, created_at_ms, due_ms, ended_at_ms, sequence, event_no,
         redelivery_id, generation, attempts, redeliver, recorded, test, status_code, error, superseded_by)
       select d.entity_id, d.id, d.webhook_no, d.endpoint_no, d.sent_to_no, d.created_at_ms, $2, d.ended_at_ms, d.sequence, d.event_no,
         coalesce($3, d.redelivery_id), h.generation, d.attempts, 1, d.status, d.test, d.status_code, d.error, d.superseded_by
       from deliveries d join queue_heads h on h.entity_id = d.entity_id and h.webhook_no = d.webhook_no
       where d.entity_id = $1 and d.id in ${valuesList(1, chunk.length, 3)}`,
      parameters,
    );
    const removed = await queries.all<{ bytes: SqlInteger }>(
      `delete from deliveries where entity_id = $1 and id in ${valuesList(1, chunk.length, 1)}
       returning ${STORED_BYTES.queued} - (${STORED_BYTES.record}) as bytes`,
      [entity, ...chunk.map(({ id }) => id)],
    );
    for (const { bytes } of [...logged, ...removed]) counts.stored(entity, Number(bytes));
  }
  await wakeHeads(
    queries,
    dialect,
    targets.map(({ webhookNo }) => ({ entityId, webhookNo, atMs: nowMs, isWaiting: true })),
  );
  await counts.write(queries);
  return queued;
}

/** Notes what is to be sent again: all that match now, and nothing that comes later. */
export async function startRedelivery(
  db: Database,
  entityId: string,
  filter: DeliveryFilter,
  change: Change,
): Promise<string> {
  const { total, untilMs } = await db.longReads.snapshot(async (queries) => ({
    total: await countIn(queries, db.dialect, entityId, filter),
    untilMs: await readNowMs(queries, db.dialect),
  }));
  return db.transaction(async (queries) => {
    const redeliveryId = newId('rdl');
    await queries.run(
      `insert into redeliveries (entity_id, id, filter, status, total, until_ms, actor, created_at)
       values ($1, $2, $3, 'running', $4, $5, $6, $7)`,
      [entityId, redeliveryId, JSON.stringify(filter), total, untilMs, change.actor, change.nowS],
    );
    return redeliveryId;
  });
}

type JobRow = { filter: string; until_ms: SqlInteger; cursor_id: string };

/**
 * Queues the next share of a redelivery, oldest first, and returns whether there is more. The row of the redelivery is
 * its lock and its cursor: where an instance dies in the middle, the next one goes on from there, and nothing is queued
 * twice.
 */
export function continueRedelivery(db: Database, entityId: string, redeliveryId: string): Promise<boolean> {
  const { dialect } = db;
  return db.transaction(async (queries) => {
    const job = await queries.get<JobRow>(
      `update redeliveries set status = status where entity_id = $1 and id = $2 and status = 'running'
       returning filter, until_ms, cursor_id`,
      [entityId, redeliveryId],
    );
    if (job === undefined) return false;
    const share = await findShare(queries, dialect, entityId, job);
    // What is paused is queued, and sent when its endpoint is resumed.
    const open = share.filter(({ blocked }) => (blocked & ~BLOCKED.paused) === 0);
    const key = dialect.bindUuid(redeliveryId.slice('rdl_'.length));
    const queued = open.length === 0 ? 0 : await queueAgain(queries, dialect, entityId, open, key);
    const isLast = share.length < ROWS_PER_TRANSACTION;
    const last = share.at(-1);
    await queries.run(
      `update redeliveries set seen = seen + $3, queued = queued + $4, cursor_id = $5, status = $6,
         finished_at = case when $6 = 'finished' then ${dialect.nowMs} / 1000 else null end
       where entity_id = $1 and id = $2`,
      [
        entityId,
        redeliveryId,
        share.length,
        queued,
        last === undefined ? job.cursor_id : `dlv_${dialect.hexOf(last.id)}`,
        isLast ? 'finished' : 'running',
      ],
    );
    return !isLast;
  });
}

type ShareRow = Target & { blocked: number };

/** The next matches after the cursor, from the record and the queue, in the order of their ids. */
async function findShare(queries: Queries, dialect: Dialect, entityId: string, job: JobRow): Promise<ShareRow[]> {
  await queries.get(dialect.planForClaims);
  const filter = deliveryFilterSchema.parse(JSON.parse(job.filter));
  const scope = await resolveScope(queries, dialect, entityId, filter);
  if (scope === null) return [];
  const untilMs = Number(job.until_ms) + 1;
  const narrowed: Scope = { ...scope, untilMs: Math.min(scope.untilMs ?? untilMs, untilMs), isDated: true };
  const after = hexOfId('dlv', job.cursor_id) ?? '0'.repeat(32);
  const found = new Map<string, { hex: string; webhookNo: number }>();
  const inTable = (name: string) => sourcesOf(narrowed, dialect).filter(({ table }) => table === name);
  // PostgreSQL reads each with a later snapshot: what is completed or sent again meanwhile is in one of the three.
  for (const { table, sql, parameters, order } of [
    ...inTable('queue'),
    ...inTable('deliveries'),
    ...inTable('queue'),
  ]) {
    const alias = table === 'deliveries' ? 'd' : 'q';
    const rows = await queries.all<{ id: SqlUuid; webhook_no: SqlInteger }>(
      `select ${alias}.id as id, ${alias}.webhook_no as webhook_no ${sql} and ${alias}.id > ${parameters.bind(dialect.bindUuid(after))}
       order by ${order} limit ${ROWS_PER_TRANSACTION}`,
      parameters.values,
    );
    for (const row of rows) {
      const hex = dialect.hexOf(row.id);
      found.set(hex, { hex, webhookNo: Number(row.webhook_no) });
    }
  }
  const share = [...found.values()].sort((a, b) => (a.hex < b.hex ? -1 : 1)).slice(0, ROWS_PER_TRANSACTION);
  const blocked = await readBlocked(queries, scope.entity, share);
  return share.map(({ hex, webhookNo }) => ({
    id: dialect.bindUuid(hex),
    webhookNo,
    blocked: blocked.get(webhookNo) ?? 0,
  }));
}

async function readBlocked(
  queries: Queries,
  entity: SqlUuid,
  share: readonly { webhookNo: number }[],
): Promise<Map<number, number>> {
  const blocked = new Map<number, number>();
  for (const chunk of chunks([...new Set(share.map(({ webhookNo }) => webhookNo))])) {
    const rows = await queries.all<{ webhook_no: SqlInteger; blocked: SqlInteger }>(
      `select webhook_no, blocked from queue_heads where entity_id = $1 and webhook_no in ${valuesList(1, chunk.length, 1)}`,
      [entity, ...chunk],
    );
    for (const row of rows) blocked.set(Number(row.webhook_no), Number(row.blocked));
  }
  return blocked;
}

/**
 * Redeliveries that are not finished, but for those given. Of each entity only the oldest, so that a thousand of one wait
 * for each other.
 */
export async function findRunning(
  db: Database,
  except: readonly string[] = [],
): Promise<{ entityId: string; redeliveryId: string }[]> {
  const others = except.length === 0 ? '' : `and id not in ${valuesList(1, except.length)}`;
  const rows = await db.all<{ entity_id: string; id: string }>(
    `select entity_id, min(id) as id from redeliveries where status = 'running' ${others}
     group by entity_id order by min(created_at) limit 1000`,
    except,
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
  const { dialect } = db;
  const hex = hexOfId('rdl', redeliveryId);
  if (hex === null) return Promise.resolve(null);
  return db.longReads.snapshot(async (queries) => {
    const row = await queries.get<ProgressRow>(
      'select status, total, seen, queued, created_at, finished_at from redeliveries where entity_id = $1 and id = $2',
      [entityId, redeliveryId],
    );
    if (row === undefined) return null;
    const progress = await queries.get<{ sent: SqlInteger | null; delivered: SqlInteger | null }>(
      `select sum(sent) as sent, sum(sent * case when status = 1 then 1 else 0 end) as delivered from (
         select 1 as sent, status from deliveries where entity_id = $1 and redelivery_id = $2
         union all
         select case when redeliver = 0 then 1 else 0 end as sent, coalesce(recorded, 0) as status
         from queue where entity_id = $1 and redelivery_id = $2) d`,
      [entityKey(dialect, entityId), dialect.bindUuid(hex)],
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
