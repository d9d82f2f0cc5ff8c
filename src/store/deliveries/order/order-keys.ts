import { type DestinationKey, entityOfDestination } from '../../../domain/post-url.ts';
import type { Dialect, Queries, SqlUuid, SqlValue } from '../../database/database.ts';
import {
  Columns,
  chunks,
  entityKey,
  hashKey,
  integer,
  nullable,
  type RowOf,
  text,
  textByRows,
  uuid,
  valuesList,
} from '../../database/sql.ts';
import { webhookOfHead } from '../retraction-heads.ts';
import { orderKeyTable } from '../tables.ts';

/**
 * Deliveries with one order key are sent one at a time, in the order of their turns. Other keys do not wait for them.
 *
 * | the delivery is about                     | its key is of                |
 * |-------------------------------------------|------------------------------|
 * | an agreement, and its endpoint is ordered | the endpoint, the agreement  |
 * | a payment                                 | the webhook, the payment     |
 * | anything else                             | –                            |
 *
 * | state  | row in `queue`                                     | leaves it by                                                |
 * |--------|----------------------------------------------------|-------------------------------------------------------------|
 * | parked | `order_key`, `generation` is null                  | settleKeys: has the turn when the one before it has left    |
 * |        |                                                    | cancellation, supersession: left                            |
 * | turn   | `order_key`, a generation of its webhook's head    | recordAttempts, cancellation, supersession: left, once it is|
 * |        |                                                    | delivered, failed, cancelled or superseded                  |
 * | left   | none, or one with `recorded` and no `order_key`    | queueAgain: a payment joins its key again                   |
 *
 * A claim compares the generation of a row with the generation of the head, and no comparison with null is true. So no claim
 * takes a parked row, and a resume, which raises the generation of the head, does not release such a row. A delivery with the
 * turn is like any other delivery: it is retried, held while its webhook is suspended or paused, claimed again when its lease
 * ends, and returned. A redelivery of a parked delivery waits for the turn. A redelivery of a payment joins the payment's key
 * again, so that the payment's next revision waits for the redelivery; any other redelivery of a completed delivery has no key.
 *
 * A row of `order_keys` is the lock of a key. It exists while deliveries of the key are in the queue. Until the row is deleted,
 * `next_turn` only rises. The queue says which delivery has the turn. Every transaction takes its locks in this order, each kind
 * sorted by key, so that no two transactions wait for each other:
 *
 *   event_ids → events → subjects → tasks → order_keys → deliveries → queue → queue_heads → counters → endpoint_sequences
 */

export type OrderKey = { readonly entity: SqlUuid; readonly key: SqlUuid };

/** Hashes of the agreement and the payment that a delivery is about. */
export type Subjects = { readonly agreement: SqlUuid | null; readonly payment: SqlUuid | null };

export function subjectsOf(
  dialect: Dialect,
  { agreementId = null, factKey = null }: { agreementId?: string | null; factKey?: string | null },
): Subjects {
  return {
    agreement: agreementId === null ? null : hashKey(dialect, agreementId),
    payment: factKey === null ? null : hashKey(dialect, factKey),
  };
}

/** The queue of a delivery and its endpoint. */
export type Scope = { readonly webhookNo: number; readonly endpointNo: number; readonly isOrdered: boolean };

export function orderKeyOf(
  dialect: Dialect,
  { agreement, payment }: Subjects,
  { webhookNo, endpointNo, isOrdered }: Scope,
): SqlUuid | null {
  if (isOrdered && agreement !== null) return hashKey(dialect, `endpoint ${endpointNo} ${dialect.hexOf(agreement)}`);
  // An event and its retraction have different queues, but the same key.
  if (payment !== null) return hashKey(dialect, `webhook ${webhookOfHead(webhookNo)} ${dialect.hexOf(payment)}`);
  return null;
}

export function nameOf({ hexOf }: Dialect, { entity, key }: OrderKey): string {
  return `${hexOf(entity)} ${hexOf(key)}`;
}

/** Returns each key once, with the number of turns to draw from it. */
function sorted(dialect: Dialect, keys: readonly OrderKey[]): { name: string; key: OrderKey; count: number }[] {
  const groups = Map.groupBy(keys, (key) => nameOf(dialect, key));
  const counted = [...groups].flatMap(([name, [key, ...others]]) =>
    key === undefined ? [] : { name, key, count: others.length + 1 },
  );
  return counted.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function parametersOf(keys: readonly { key: OrderKey }[]): SqlValue[] {
  return keys.flatMap(({ key: { entity, key } }): SqlValue[] => [entity, key]);
}

const turnColumns = orderKeyTable.pick(['entity', 'key', 'nextTurn']);

const lockText = textByRows(
  (rows) => `insert into order_keys (entity_id, order_key, next_turn) values ${valuesList(rows, 3)}
    on conflict (entity_id, order_key) do update set next_turn = order_keys.next_turn + excluded.next_turn
    returning ${turnColumns.list}`,
);

/** Locks keys. Call it before reading or writing deliveries with these keys, and call `settleKeys` afterwards. */
export async function lockKeys(queries: Queries, dialect: Dialect, keys: readonly OrderKey[]): Promise<void> {
  for (const chunk of chunks(sorted(dialect, keys))) {
    const values = chunk.flatMap(({ key: { entity, key } }): SqlValue[] => [entity, key, 0]);
    await queries.all(lockText(chunk.length), values);
  }
}

/** Locks the keys and draws a turn for each delivery, in the order given. */
export async function drawTurns(queries: Queries, dialect: Dialect, keys: readonly OrderKey[]): Promise<number[]> {
  const next = new Map<string, number>();
  for (const chunk of chunks(sorted(dialect, keys))) {
    const values = chunk.flatMap(({ key: { entity, key }, count }): SqlValue[] => [entity, key, count]);
    const nextTurns = new Map(
      (await turnColumns.all(queries, lockText(chunk.length), values)).map((row) => [
        nameOf(dialect, row),
        row.nextTurn,
      ]),
    );
    for (const { name, count } of chunk) next.set(name, (nextTurns.get(name) ?? count) - count);
  }
  return keys.map((key) => {
    const name = nameOf(dialect, key);
    const turn = next.get(name) ?? 0;
    next.set(name, turn + 1);
    return turn;
  });
}

export type DeliveryRow = { readonly entity: SqlUuid; readonly id: SqlUuid };

/** Locks rows of the queue in one order, for a transaction whose statements would lock them in another order. */
export async function lockRows(queries: Queries, dialect: Dialect, rows: readonly DeliveryRow[]): Promise<void> {
  const { uuid, hexOf, lockRow, lookUp, isDistributed } = dialect;
  // SQLite has one writer.
  if (lockRow === '') return;
  const named = rows.map((row) => ({ ...row, name: `${hexOf(row.entity)} ${hexOf(row.id)}` }));
  for (const chunk of chunks(named.sort((a, b) => (a.name < b.name ? -1 : 1)))) {
    // One server looks the rows up in the order of the list. A worker of Citus may join them in any order.
    await queries.all(
      `with wanted (entity_id, id) as (values ${valuesList(chunk.length, 2, 0, [uuid, uuid])})
       select w.id from wanted w
       ${lookUp('cross join', 'queue', 'q', { entity_id: 'w.entity_id', id: 'w.id' })}
       ${isDistributed ? 'order by q.id' : ''} ${lockRow} of q`,
      chunk.flatMap(({ entity, id }): SqlValue[] => [entity, id]),
    );
  }
}

const ofKey = 'q.entity_id = k.entity_id and q.order_key = k.order_key';

const withKeys = ({ uuid }: Dialect, rows: number) =>
  `with k (entity_id, order_key) as (values ${valuesList(rows, 2, 0, [uuid, uuid])})`;

const keyColumns = orderKeyTable.pick(['entity', 'key']);

/** A delivery about to be inserted. */
export type Joining = { readonly entityId: string; readonly key: SqlUuid };

/** The place of a delivery in the order of its key. */
export type Place = Subjects & {
  /** The digits of the key. */
  readonly orderKey: string;
  readonly turn: number;
  /** Whether the delivery waits for another delivery with that key. */
  readonly isParked: boolean;
};

/**
 * Locks the keys and returns a turn for each delivery. Only the first delivery of a key may be sent, and only if the queue has no
 * other delivery of the key.
 */
export async function joinKeys<Delivery extends Joining>(
  queries: Queries,
  dialect: Dialect,
  deliveries: readonly Delivery[],
): Promise<Map<Delivery, Pick<Place, 'orderKey' | 'turn' | 'isParked'>>> {
  const keys = deliveries.map(({ entityId, key }) => ({ entity: entityKey(dialect, entityId), key }));
  const turns = await drawTurns(queries, dialect, keys);
  const taken = new Set<string>();
  for (const chunk of chunks(sorted(dialect, keys))) {
    const rows = await keyColumns.all(
      queries,
      `${withKeys(dialect, chunk.length)} select ${keyColumns.list} from k
       where exists (select 1 from queue q where ${ofKey} and q.order_key is not null${dialect.ofEntity('q')})`,
      parametersOf(chunk),
    );
    for (const key of rows) taken.add(nameOf(dialect, key));
  }
  const places = new Map<Delivery, Pick<Place, 'orderKey' | 'turn' | 'isParked'>>();
  for (const [index, delivery] of deliveries.entries()) {
    const name = nameOf(dialect, { entity: entityKey(dialect, delivery.entityId), key: delivery.key });
    places.set(delivery, {
      orderKey: dialect.hexOf(delivery.key),
      turn: turns[index] ?? 0,
      isParked: taken.has(name),
    });
    taken.add(name);
  }
  return places;
}

/** A delivery that has its turn now. The caller wakes the heads of all such deliveries together, in one order. */
export type Promotion = {
  readonly destination: DestinationKey;
  readonly entityId: string;
  readonly webhookNo: number;
  readonly atMs: number;
  readonly isWaiting: true;
};

/** The first waiting delivery of a key. If nothing waits, the id and all columns after it are null. */
const firstColumns = new Columns({
  entity: uuid('f.entity_id'),
  key: uuid('f.order_key'),
  id: nullable(uuid('f.id')),
  webhookNo: integer('d.webhook_no'),
  generation: nullable(integer('d.generation')),
  dueMs: integer('d.due_ms'),
});
type First = RowOf<typeof firstColumns>;

/**
 * Gives the turn to the first delivery of each locked key, after deliveries may have left it. Deletes keys without
 * waiting deliveries.
 */
export async function settleKeys(
  queries: Queries,
  dialect: Dialect,
  keys: readonly OrderKey[],
  nowMs: number,
): Promise<Promotion[]> {
  const promoted: Promotion[] = [];
  for (const chunk of chunks(sorted(dialect, keys))) {
    const first = await firstColumns.all(
      queries,
      `${withKeys(dialect, chunk.length)}, f as (select k.entity_id, k.order_key, (
           select q.id from queue q where ${ofKey} and q.order_key is not null${dialect.ofEntity('q')}
           order by q.turn limit 1) as id from k)
       select ${firstColumns.list} from f
       ${dialect.lookUp('left join', 'queue', 'd', { entity_id: 'f.entity_id', id: 'f.id' })}`,
      parametersOf(chunk),
    );
    await forgetKeys(
      queries,
      dialect,
      first.filter(({ id }) => id === null),
    );
    for (const row of first) {
      if (row.id === null || row.generation !== null) continue;
      promoted.push(await promote(queries, row, nowMs));
    }
  }
  return promoted;
}

async function forgetKeys(queries: Queries, dialect: Dialect, keys: readonly OrderKey[]): Promise<void> {
  if (keys.length === 0) return;
  await queries.run(
    `delete from order_keys where (entity_id, order_key) in
       (values ${valuesList(keys.length, 2, 0, [dialect.uuid, dialect.uuid])})${dialect.ofEntity('order_keys')}`,
    keys.flatMap(({ entity, key }): SqlValue[] => [entity, key]),
  );
}

const headColumns = new Columns({
  destination: text<DestinationKey>('destination'),
  generation: integer('generation'),
});

/**
 * Gives a delivery its turn. The delivery becomes due now at the earliest, because claims skip rows with a due time long before
 * (`look_from_ms`).
 */
async function promote(queries: Queries, { entity, id, webhookNo, dueMs }: First, nowMs: number): Promise<Promotion> {
  const head = await headColumns.get(
    queries,
    `select ${headColumns.list} from queue_heads where entity_id = $1 and webhook_no = $2`,
    [entity, webhookNo],
  );
  if (head === undefined) throw new Error(`the webhook ${webhookNo} of a waiting delivery has no head`);
  const atMs = Math.max(dueMs, nowMs);
  await queries.run(
    'update queue set generation = $3, due_ms = $4 where entity_id = $1 and id = $2 and generation is null',
    [entity, id, head.generation, atMs],
  );
  const { destination } = head;
  return { destination, entityId: entityOfDestination(destination), webhookNo, atMs, isWaiting: true };
}
