import { type DeliveryFilter, deliveryFilterSchema, type Redelivery } from '../../../contract/deliveries.ts';
import { hexOfId } from '../../../domain/ids.ts';
import { readNowMs } from '../../database/clock.ts';
import type { Database, Queries, SqlUuid } from '../../database/database.ts';
import { Columns, chunks, entityKey, integer, json, nullable, text, valuesList } from '../../database/sql.ts';
import { newId } from '../../new-id.ts';
import type { Change } from '../../tenants/audit.ts';
import { BLOCKED } from '../heads.ts';
import { countRedeliveringIn } from './count.ts';
import { findOutdated, queueAgain } from './redeliver.ts';
import { FIRST_ID, findShare, type StepLimits } from './search.ts';

/** Sending many again: a row says what and how far it has come, and any instance goes on with it. */

/** Deliveries that a step reads, for each one that it may queue. */
const READ_FACTOR = 10;

/** Notes what is to be sent again: all that match now, and nothing that comes later. */
export async function startRedelivery(
  db: Database,
  entityId: string,
  filter: DeliveryFilter,
  change: Change,
): Promise<string> {
  const { total, untilMs } = await db.longReads.snapshot(async (queries) => ({
    total: await countRedeliveringIn(queries, db.dialect, entityId, filter),
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

const jobColumns = new Columns({
  filter: json('filter', deliveryFilterSchema),
  untilMs: integer('until_ms'),
  cursorId: text('cursor_id'),
});

/**
 * Queues the next share of a redelivery, oldest first, and returns whether there is more. The row of the redelivery is
 * its lock and its cursor: where an instance dies in the middle, the next one goes on from there, and nothing is queued
 * twice.
 */
export function continueRedelivery(
  db: Database,
  entityId: string,
  redeliveryId: string,
  limits: StepLimits = { queued: db.dialect.limits.rows, read: READ_FACTOR * db.dialect.limits.rows },
): Promise<boolean> {
  const { dialect } = db;
  return db.transaction(async (queries) => {
    const job = await jobColumns.get(
      queries,
      `update redeliveries set status = status where entity_id = $1 and id = $2 and status = 'running'
       returning ${jobColumns.list}`,
      [entityId, redeliveryId],
    );
    if (job === undefined) return false;
    const after = hexOfId('dlv', job.cursorId) ?? FIRST_ID;
    const { found, readTo } = await findShare(queries, dialect, { entityId, ...job, after, limits });
    const entity = entityKey(dialect, entityId);
    const blocked = await readBlocked(queries, entity, found);
    // What is paused is queued, and sent when its endpoint is resumed.
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
    const key = dialect.bindUuid(redeliveryId.slice('rdl_'.length));
    const queued = targets.length === 0 ? 0 : await queueAgain(queries, dialect, entityId, targets, key);
    await queries.run(
      `update redeliveries set seen = seen + $3, queued = queued + $4, cursor_id = $5, status = $6,
         finished_at = case when $6 = 'finished' then ${dialect.nowMs} / 1000 else null end
       where entity_id = $1 and id = $2`,
      [
        entityId,
        redeliveryId,
        found.length,
        queued,
        `dlv_${readTo ?? found.at(-1)?.hex ?? after}`,
        readTo === null ? 'finished' : 'running',
      ],
    );
    return readTo !== null;
  });
}

const blockedColumns = new Columns({ webhookNo: integer('webhook_no'), blocked: integer('blocked') });

async function readBlocked(
  queries: Queries,
  entity: SqlUuid,
  found: readonly { webhookNo: number }[],
): Promise<Map<number, number>> {
  const blockedOf = new Map<number, number>();
  for (const chunk of chunks([...new Set(found.map(({ webhookNo }) => webhookNo))])) {
    const heads = await blockedColumns.all(
      queries,
      `select ${blockedColumns.list} from queue_heads
       where entity_id = $1 and webhook_no in ${valuesList(1, chunk.length, 1)}`,
      [entity, ...chunk],
    );
    for (const { webhookNo, blocked } of heads) blockedOf.set(webhookNo, blocked);
  }
  return blockedOf;
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

const progressColumns = new Columns({
  status: text<Redelivery['status']>('status'),
  totalResults: integer('total'),
  seen: integer('seen'),
  queued: integer('queued'),
  dateCreated: integer('created_at'),
  dateFinished: nullable(integer('finished_at')),
});

/** Of the queue: what is still to be sent again, and what was and goes on with its schedule. */
const waitingColumns = new Columns({
  waiting: integer('count(*)'),
  sent: nullable(integer('sum(case when redeliver = 0 then 1 else 0 end)')),
});

/** Of the record. The index has the status of the last response, so that no row is read. */
const endedColumns = new Columns({
  ended: integer('count(*)'),
  delivered: nullable(integer('sum(case when status_code >= 200 and status_code < 300 then 1 else 0 end)')),
});

export function readRedelivery(db: Database, entityId: string, redeliveryId: string): Promise<Redelivery | null> {
  const { dialect } = db;
  const hex = hexOfId('rdl', redeliveryId);
  if (hex === null) return Promise.resolve(null);
  return db.longReads.snapshot(async (queries) => {
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
