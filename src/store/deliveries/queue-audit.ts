import type { Database, SqlUuid } from '../database/database.ts';
import { readEachShard } from '../database/reachable-shards.ts';
import { Columns, integer, nullable, planForClaims, type RowOf, text, uuid } from '../database/sql.ts';
import { isFullLookSql } from './claim/claim-heads.ts';
import { bringHeadForward, type Schedule, waitsTooLongSql } from './clock-step.ts';
import { wakeHeads } from './heads.ts';
import { lockKeys, type OrderKey, settleKeys } from './order/order-keys.ts';

/**
 * Reads the queue by its primary key and repairs the deliveries that no claim would find. The rows of `queue` say which
 * deliveries are due; the columns of their heads only say where a claim looks first. Any instance can audit at any time: a
 * repair that is repeated changes nothing.
 */

/** Claims get this long to find a due delivery before the auditor repairs anything. */
export const OVERDUE_MS = 60_000;

export type AuditCursor = { readonly entity: string; readonly id: string };

export const FIRST_ROW: AuditCursor = { entity: '0'.repeat(32), id: '0'.repeat(32) };

export type Audited = {
  /** Queue heads whose hints excluded a due delivery. */
  readonly hidden: number;
  /** Deliveries that got their turn because no delivery of their key had it. */
  readonly parked: number;
  /** Deliveries whose times are from before the clock was set back. */
  readonly late: number;
  /** Where the next page starts; null after the last row. */
  readonly next: AuditCursor | null;
};

const foundColumns = new Columns({
  kind: text<'end' | 'hidden' | 'parked' | 'late'>('kind'),
  entity: uuid('entity_id'),
  /** The last row of the page. */
  id: nullable(uuid('id')),
  /** The head of a hidden or late delivery. */
  no: nullable(integer('no')),
  key: nullable(uuid('order_key')),
  /** Rows of the page. */
  rows: nullable(integer('page_rows')),
});
type Found = RowOf<typeof foundColumns>;

type Names = { readonly queue: string; readonly heads: string };
type From = { readonly entity: string; readonly id: string; readonly now: string; readonly schedule: Schedule };

/**
 * One row for the end of the page, one for each head with hidden or late deliveries and one for each order key in which no
 * delivery has the turn. Only the earliest row of a head and generation is compared with the hints: if the hints exclude any row,
 * they exclude the earliest.
 */
function pageText({ dialect }: Database, { queue, heads }: Names, { entity, id, now, schedule }: From): string {
  const nothing = `cast(null as ${dialect.uuid})`;
  const key = { entity_id: 'w.entity_id', webhook_no: 'w.webhook_no' };
  const head = dialect.isDistributed
    ? `join ${heads} h on h.entity_id = w.entity_id and h.webhook_no = w.webhook_no`
    : dialect.lookUp('cross join', heads, 'h', key);
  // A row of an older generation has been due since the last resume, whose time is not stored. For such a row, a hint may be a
  // minute ahead.
  const isDue = `(w.generation < h.generation or w.due_ms <= ${now} - ${OVERDUE_MS})`;
  const isLater = `h.next_due_ms > ${now} + case when w.generation < h.generation then ${OVERDUE_MS} else 0 end`;
  const isBefore = `not ${isFullLookSql(now)} and (w.generation, w.due_ms) < (h.generation, h.look_from_ms)`;
  return `with page as materialized (
      select entity_id, id, webhook_no, order_key, generation, due_ms, lease_ms,
        case when ${waitsTooLongSql(schedule, now)} then 1 else 0 end as is_late from ${queue}
      where (entity_id, id) > (${entity}, ${id}) order by entity_id, id limit ${dialect.limits.audited}),
    waiting as (select entity_id, webhook_no, generation, min(due_ms) as due_ms from page
      where generation is not null and lease_ms <= ${now} group by entity_id, webhook_no, generation),
    parked as (select distinct entity_id, order_key from page
      where generation is null and order_key is not null)
    select 'end' as kind, entity_id, id, cast(null as bigint) as no, ${nothing} as order_key, page_rows from (
      select entity_id, id, (select count(*) from page) as page_rows from page
      order by entity_id desc, id desc limit 1) last_row
    union all
    select 'hidden', w.entity_id, ${nothing}, w.webhook_no, ${nothing}, null
    from waiting w ${head}
    where h.blocked + 0 = 0 and ${isDue} and (${isLater} or ${isBefore})
    union all
    select distinct 'late', entity_id, ${nothing}, webhook_no, ${nothing}, cast(null as bigint) from page where is_late = 1
    union all
    select 'parked', p.entity_id, ${nothing}, null, p.order_key, null from parked p
    where not exists (select 1 from ${queue} q where q.entity_id = p.entity_id
      and q.order_key = p.order_key and q.order_key is not null and q.generation is not null)`;
}

/** Audits the rows after the cursor, as many as one statement reads. */
export async function auditPage(db: Database, schedule: Schedule, after: AuditCursor): Promise<Audited> {
  const { dialect } = db;
  const found = await (dialect.isDistributed ? readPages : readPage)(db, schedule, after);
  let hidden = 0;
  let parked = 0;
  let late = 0;
  for (const { kind, entity, no, key } of found) {
    if (kind === 'hidden' && no !== null) hidden += await resetHints(db, entity, no);
    if (kind === 'parked' && key !== null) parked += await passTurn(db, { entity, key });
    if (kind === 'late' && no !== null) {
      late += await bringHeadForward(db, { entity_id: entity, webhook_no: no }, schedule, 'start');
    }
  }
  // On Citus, each shard returns a page. The next pages start at the first end of a full page, so that no shard skips a row.
  const ends = found.flatMap(({ kind, entity, id, rows }) =>
    kind === 'end' && id !== null && rows === dialect.limits.audited
      ? [{ entity: dialect.hexOf(entity), id: dialect.hexOf(id) }]
      : [],
  );
  ends.sort((a, b) => (a.entity + a.id < b.entity + b.id ? -1 : 1));
  return { hidden, parked, late, next: ends[0] ?? null };
}

function readPage(db: Database, schedule: Schedule, { entity, id }: AuditCursor): Promise<Found[]> {
  const { dialect } = db;
  return db.longReads.snapshot(async (queries) => {
    const nowMs = await planForClaims(queries, dialect);
    const from = { entity: '$1', id: '$2', now: 'cast($3 as bigint)', schedule };
    const sql = pageText(db, { queue: 'queue', heads: 'queue_heads' }, from);
    const parameters = [dialect.bindUuid(entity), dialect.bindUuid(id), nowMs];
    return foundColumns.all(queries, `select ${foundColumns.list} from (${sql}) found`, parameters);
  });
}

/** A page of each shard: Citus plans no statement over all shards that compares the rows of a page with others. */
function readPages(db: Database, schedule: Schedule, { entity, id }: AuditCursor): Promise<Found[]> {
  const from = { entity: `cast('${entity}' as uuid)`, id: `cast('${id}' as uuid)`, now: db.dialect.nowMs, schedule };
  return readEachShard(db, {
    tables: ['queue', 'queue_heads'],
    select: (queue = '', heads = '') =>
      `select ${foundColumns.list} from (${pageText(db, { queue, heads }, from)}) found`,
  });
}

/** Makes the next claim look at the whole queue of the head. */
function resetHints(db: Database, entity: SqlUuid, webhookNo: number): Promise<number> {
  return db.transaction((queries) =>
    queries.run(
      `update queue_heads set next_due_ms = 0, look_from_ms = 0, full_look_ms = 0, idle = 0, write_count = write_count + 1
       where entity_id = $1 and webhook_no = $2`,
      [entity, webhookNo],
    ),
  );
}

function passTurn(db: Database, key: OrderKey): Promise<number> {
  const { dialect } = db;
  return db.transaction(async (queries) => {
    const nowMs = await planForClaims(queries, dialect);
    await lockKeys(queries, dialect, [key]);
    const promoted = await settleKeys(queries, dialect, [key], nowMs);
    await wakeHeads(queries, dialect, promoted);
    return promoted.length;
  });
}
