import type { Dialect, Queries, SqlValue } from '../database/database.ts';
import { chunks, entityKey, powersOfTwo, takesArrays, textByRows, valuesList } from '../database/sql.ts';
import { takeNumbers } from '../endpoints/sequences.ts';
import type { Claimed } from './claim/claimed.ts';
import { leaseSeconds } from './claim/leases.ts';
import { CountChanges } from './counts/counts.ts';
import { requireUnchangedHeads } from './head-locks.ts';
import { type Wake, wakeHeads } from './heads.ts';
import type { Place, Promotion } from './order/order-keys.ts';

/** Deliveries as they enter the queue. */

/** The part of a webhook's head on which its new deliveries depend. */
type QueueOfWebhook = {
  readonly webhookNo: number;
  readonly endpointNo: number;
  readonly isOrdered: boolean;
  readonly generation: number;
};

/** A new row of `queue`. */
export type QueuedDelivery = {
  entityId: string;
  hex: string;
  receiver: QueueOfWebhook;
  createdAtMs: number;
  dueMs: number;
  /** Zero if no instance has claimed it. */
  leaseMs: number;
  /** The sequence number. The insertion sets it. */
  sequence: number | null;
  /** Position in the order of its key. Null without a key. */
  place: Place | null;
  /** The claim if this process dispatches the delivery. */
  claim: Claimed | null;
};

/** Acceptance counts as the first claim of a directly dispatched delivery. */
export const FIRST_TOKEN = 1;

const COLUMNS = {
  entity_id: 'uuid',
  id: 'uuid',
  webhook_no: 'bigint',
  endpoint_no: 'bigint',
  created_at_ms: 'bigint',
  due_ms: 'bigint',
  lease_ms: 'bigint',
  lease_s: 'smallint',
  generation: 'int',
  token: 'int',
  may_be_received: 'smallint',
  sequence: 'bigint',
};
const PLACE_COLUMNS = { order_key: 'uuid', turn: 'bigint', agreement_hash: 'uuid', payment_hash: 'uuid' };

const insertUsual = insertion(COLUMNS);
const insertPlaced = insertion({ ...COLUMNS, ...PLACE_COLUMNS });

/** PostgreSQL parses arrays for each execution, so a few rows are a list of values there too. */
const FEWEST_IN_ARRAYS = 16;
const MOST_IN_ARRAYS = 1_000;

/** Many rows are an array for each column on PostgreSQL: a parameter for each value took the client longer. */
function insertion(columns: Readonly<Record<string, string>>) {
  const types = Object.values(columns);
  const start = `insert into queue (${Object.keys(columns).join(', ')})`;
  const plainText = textByRows((rows) => `${start} values ${valuesList(rows, types.length)}`);
  return async (queries: Queries, dialect: Dialect, rows: readonly QueuedDelivery[]): Promise<void> => {
    const hasArrays = takesArrays(dialect) && rows.length >= FEWEST_IN_ARRAYS;
    for (const chunk of hasArrays ? chunks(rows, MOST_IN_ARRAYS) : powersOfTwo(rows)) {
      const values: SqlValue[] = [];
      for (const row of chunk) addValues(values, dialect, row);
      if (hasArrays) {
        const { text, bind } = dialect.rowList;
        await queries.send(`${start} ${text(types, chunk.length)}`, bind(types, values));
      } else await queries.send(plainText(chunk.length), values);
    }
  };
}

/** Rows that are written in the same transaction as the deliveries. */
type Along = {
  readonly events?: readonly { readonly event: { entityId: string; body: string; eventId: string | null } }[];
  readonly promoted?: readonly Promotion[];
  readonly changes?: CountChanges;
};

/**
 * Inserts deliveries with their counters and heads, and the rows in `along`. Sequence numbers are taken last, because
 * other instances wait for the same counters.
 */
export async function insertDeliveries(
  queries: Queries,
  dialect: Dialect,
  rows: readonly QueuedDelivery[],
  along: Along = {},
): Promise<void> {
  const wakes: Wake[] = [...(along.promoted ?? [])];
  const changes = along.changes ?? new CountChanges(dialect, 'acceptance');
  for (const { entityId, receiver, dueMs, leaseMs, place } of rows) {
    if (place?.isParked === true) continue;
    // A delivery with a lease can be claimed when its lease ends, so its head is due only then.
    const atMs = Math.max(dueMs, leaseMs);
    wakes.push({ entityId, webhookNo: receiver.webhookNo, atMs, isWaiting: leaseMs === 0 });
  }
  // The order key of an agreement depends on the endpoint, from which the webhook may have moved since it was read.
  const scoped = rows.filter(({ place }) => place !== null && place.agreement !== null);
  await requireUnchangedHeads(
    queries,
    dialect,
    scoped.map(({ entityId, receiver }) => ({ entityId, ...receiver })),
    wakes,
  );
  await wakeHeads(queries, dialect, wakes);
  for (const { event } of along.events ?? []) changes.event(entityKey(dialect, event.entityId), event);
  for (const { entityId, hex, receiver } of rows) {
    const entity = entityKey(dialect, entityId);
    changes.queue(entity, receiver.webhookNo, { waiting: 1 });
    changes.deliveries(entity, receiver.webhookNo, hex, { created: 1 });
  }
  await changes.write(queries);
  await takeNumbers(queries, dialect, rows);
  // Most deliveries have no order key, and are inserted without its columns.
  const [placed, usual] = partition(rows, ({ place }) => place !== null);
  await insertUsual(queries, dialect, usual);
  await insertPlaced(queries, dialect, placed);
}

function partition<Item>(items: readonly Item[], matches: (item: Item) => boolean): [Item[], Item[]] {
  const found: Item[] = [];
  const others: Item[] = [];
  for (const item of items) (matches(item) ? found : others).push(item);
  return [found, others];
}

function addValues(values: SqlValue[], dialect: Dialect, row: QueuedDelivery): void {
  values.push(
    entityKey(dialect, row.entityId),
    dialect.bindUuid(row.hex),
    row.receiver.webhookNo,
    row.receiver.endpointNo,
    row.createdAtMs,
    row.dueMs,
    row.leaseMs,
    // Only deliveries that are due at this moment get a lease here.
    row.leaseMs === 0 ? 0 : leaseSeconds(row.leaseMs - row.dueMs),
    row.place?.isParked === true ? null : row.receiver.generation,
    row.leaseMs > 0 ? FIRST_TOKEN : 0,
    row.leaseMs > 0 ? 1 : 0,
    row.sequence,
  );
  if (row.place === null) return;
  const { orderKey, turn, agreement, payment } = row.place;
  values.push(dialect.bindUuid(orderKey), turn, agreement, payment);
}
