import type { DestinationKey } from '../../domain/post-url.ts';
import { readNowMs } from '../database/clock.ts';
import type { Database, Queries } from '../database/database.ts';
import { inOrderOf, readReachable } from '../database/reachable-shards.ts';
import { Columns, integer, nullable, type RowOf, uuid, valuesList } from '../database/sql.ts';
import { CountChanges } from './counts/counts.ts';
import { wakeHeads } from './heads.ts';
import { lockKeys, nameOf, type OrderKey, settleKeys } from './order/order-keys.ts';
import { STATUS_CODES, WITHOUT_ATTEMPT } from './states.ts';

/**
 * What a deleted webhook leaves behind: its deliveries count as cancelled from the commit on, and are moved into the
 * record a bounded step at a time. The head is the task: any instance finishes it, after any crash, and a step that is
 * repeated finds less to do.
 */

const HEADS_PER_LOOK = 100;

/** An acceptance that had read the webhook before it was deleted may still add to the queue; none takes a day. */
const KEEP_HEAD_MS = 86_400_000;

const deletedColumns = new Columns({
  entity: uuid('entity_id'),
  webhookNo: integer('webhook_no'),
  deletedAtMs: integer('deleted_at_ms'),
});
export type DeletedHead = RowOf<typeof deletedColumns>;

/** Deleted heads whose queue holds something or that are a day old, a page at a time in the order of their deletion. */
export async function findDeletedHeads(
  db: Database,
  after: DeletedHead | null,
): Promise<{ heads: DeletedHead[]; isLast: boolean }> {
  const { bindUuid, hexOf, nowMs } = db.dialect;
  const text = (heads: string, queue: string, [deletedAtMs, entity, webhookNo]: readonly string[]) =>
    `select ${deletedColumns.list} from ${heads} h
     where deleted_at_ms is not null and (deleted_at_ms, entity_id, webhook_no) > (${deletedAtMs}, ${entity}, ${webhookNo})
       and (deleted_at_ms < ${nowMs} - ${KEEP_HEAD_MS} or exists (
         select 1 from ${queue} q where q.entity_id = h.entity_id and q.webhook_no = h.webhook_no))
     order by deleted_at_ms, entity_id, webhook_no limit ${HEADS_PER_LOOK}`;
  const { deletedAtMs, entity, webhookNo } = after ?? {
    deletedAtMs: 0,
    entity: bindUuid('0'.repeat(32)),
    webhookNo: Number.MIN_SAFE_INTEGER,
  };
  const literals = [`${deletedAtMs}`, `cast('${hexOf(entity)}' as uuid)`, `${webhookNo}`];
  const found = await readReachable(
    db,
    (reads) =>
      deletedColumns.all(reads, text('queue_heads', 'queue', ['$1', '$2', '$3']), [deletedAtMs, entity, webhookNo]),
    { tables: ['queue_heads', 'queue'], select: (heads = '', queue = '') => text(heads, queue, literals) },
  );
  const heads = inOrderOf(db, found, (head) => head.deletedAtMs).slice(0, HEADS_PER_LOOK);
  return { heads, isLast: heads.length < HEADS_PER_LOOK };
}

const sweptColumns = new Columns({
  id: uuid('id'),
  attempts: integer('attempts'),
  recorded: nullable(integer('recorded')),
  endpointNo: integer('endpoint_no'),
  orderKey: nullable(uuid('order_key')),
});
type SweptRow = RowOf<typeof sweptColumns>;

/**
 * Moves one step's rows and returns whether there may be more. `onDue` is told where deliveries of other webhooks have their
 * turn now.
 */
export function sweepDeleted(
  db: Database,
  head: DeletedHead,
  onDue: (destinations: Iterable<DestinationKey>) => void = () => undefined,
): Promise<boolean> {
  const { dialect } = db;
  return db.transaction(async (queries) => {
    const next = `select ${sweptColumns.list} from queue
      where entity_id = $1 and webhook_no = $2 order by generation, due_ms, id limit ${dialect.limits.rows}`;
    const key = [head.entity, head.webhookNo];
    // Keys are locked before rows, so that they are read from rows that are not locked yet.
    const orderKeys = orderKeysOf(head, await sweptColumns.all(queries, next, key));
    await lockKeys(queries, dialect, orderKeys);
    const isLocked = new Set(orderKeys.map((one) => nameOf(dialect, one)));
    const found = await sweptColumns.all(queries, `${next} ${dialect.skipLocked}`, key);
    const rows = found.filter((row) => orderKeysOf(head, [row]).every((one) => isLocked.has(nameOf(dialect, one))));
    const settle = async () => {
      const promoted = await settleKeys(queries, dialect, orderKeys, await readNowMs(queries, dialect));
      await wakeHeads(queries, dialect, promoted);
      onDue(promoted.map(({ destination }) => destination));
    };
    if (rows.length === 0) {
      await settle();
      if (found.length > 0) return true;
      await forgetTask(queries, dialect.nowMs, head);
      return false;
    }
    const ids = rows.map(({ id }) => id);
    const which = `entity_id = $1 and id in ${valuesList(1, ids.length, 1)}`;
    await queries.run(
      `insert into deliveries (entity_id, id, webhook_no, endpoint_no, sent_to_no, created_at_ms, ended_at_ms, sequence,
         redelivery_id, attempts, status, status_code, test, error, superseded_by, may_be_received)
       select entity_id, id, webhook_no, endpoint_no, sent_to_no, created_at_ms, ended_at_ms, sequence, redelivery_id,
         attempts, coalesce(recorded, ${STATUS_CODES.cancelled}), status_code, test, error, superseded_by, ${WITHOUT_ATTEMPT}
       from queue where ${which} on conflict (entity_id, id) do nothing`,
      [head.entity, ...ids],
    );
    await queries.run(`delete from queue where ${which}`, [head.entity, ...ids]);
    const counts = new CountChanges(dialect, 'completion');
    for (const row of rows.filter(({ recorded }) => recorded === null)) {
      counts.queue(head.entity, head.webhookNo, { waiting: -1, retrying: row.attempts > 0 ? -1 : 0 });
      counts.deliveries(head.entity, head.webhookNo, dialect.hexOf(row.id), { cancelled: 1 });
    }
    await settle();
    await counts.write(queries);
    return found.length === dialect.limits.rows || rows.length < found.length;
  });
}

function orderKeysOf({ entity }: DeletedHead, rows: readonly SweptRow[]): OrderKey[] {
  return rows.flatMap(({ endpointNo, orderKey }) => (orderKey === null ? [] : { entity, endpointNo, key: orderKey }));
}

/** The head itself stays, because records name their webhook by it; only the task is done with. */
async function forgetTask(queries: Queries, nowMs: string, head: DeletedHead): Promise<void> {
  await queries.run(
    `update queue_heads set deleted_at_ms = null
     where entity_id = $1 and webhook_no = $2 and deleted_at_ms < ${nowMs} - ${KEEP_HEAD_MS}`,
    [head.entity, head.webhookNo],
  );
}
