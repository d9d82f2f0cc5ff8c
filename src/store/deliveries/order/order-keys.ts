import { type DestinationKey, entityOfDestination } from '../../../domain/post-url.ts';
import type { Dialect, Queries, SqlUuid, SqlValue } from '../../database/database.ts';
import {
  Columns,
  chunks,
  entityKey,
  integer,
  nullable,
  type RowOf,
  text,
  textByRows,
  uuid,
  valuesList,
} from '../../database/sql.ts';

/**
 * Ordering `agreement`: of the deliveries of an endpoint with one order key, one at a time can be claimed, in the order of
 * their numbers. Other keys go on.
 *
 * | state  | row in `queue`                                     | leaves it by                                                |
 * |--------|----------------------------------------------------|-------------------------------------------------------------|
 * | parked | `order_key`, `generation` is null                  | settleKeys: has the turn when the one before it has left    |
 * |        |                                                    | cancellation, supersession: left                            |
 * | turn   | `order_key`, a generation of its webhook's head    | recordAttempts, cancellation, supersession: left, once it is|
 * |        |                                                    | delivered, failed, cancelled or superseded                  |
 * | left   | none, or one with `recorded` and no `order_key`    | –                                                           |
 *
 * A claim compares the generation of a row with the generation of the head, and no comparison with null is true. No claim
 * takes a parked row, and a resume, which raises the generation of the head, does not release it. What has the turn is like any other delivery: it is retried, held while its
 * webhook is suspended or paused, claimed again when its lease ends, and returned. A redelivery of a parked delivery waits for
 * the turn; one of a delivery that has left is no part of the order. A delivery stays with the endpoint that it was accepted
 * for, also where its webhook is moved.
 *
 * A row of `order_keys` is the lock of a key. It is there while deliveries of the key are in the queue, and nothing is counted
 * in it: who has the turn is read from the queue, under the lock. Every transaction takes its locks in this order, each kind
 * sorted by key, so that no two wait for each other:
 *
 *   event_ids → subjects → tasks → order_keys → deliveries → queue → queue_heads → counters → endpoint_sequences
 */

export type OrderKey = { readonly entity: SqlUuid; readonly endpointNo: number; readonly key: SqlUuid };

export function nameOf({ hexOf }: Dialect, { entity, endpointNo, key }: OrderKey): string {
  return `${hexOf(entity)} ${endpointNo} ${hexOf(key)}`;
}

function sorted(dialect: Dialect, keys: readonly OrderKey[]): [name: string, key: OrderKey][] {
  const distinct = new Map(keys.map((key) => [nameOf(dialect, key), key]));
  return [...distinct].sort(([a], [b]) => (a < b ? -1 : 1));
}

function parametersOf(keys: readonly [string, OrderKey][]): SqlValue[] {
  return keys.flatMap(([, { entity, endpointNo, key }]): SqlValue[] => [entity, endpointNo, key]);
}

const lockText = textByRows(
  (rows) => `insert into order_keys (entity_id, endpoint_no, order_key) values ${valuesList(rows, 3)}
    on conflict (entity_id, endpoint_no, order_key) do update set order_key = excluded.order_key`,
);

/** Before anything is read or written of the deliveries with these keys; to be followed by `settleKeys`. */
export async function lockKeys(queries: Queries, dialect: Dialect, keys: readonly OrderKey[]): Promise<void> {
  for (const chunk of chunks(sorted(dialect, keys))) await queries.run(lockText(chunk.length), parametersOf(chunk));
}

export type DeliveryRow = { readonly entity: SqlUuid; readonly id: SqlUuid };

/** For a transaction that changes rows of the queue with several statements, which would take their locks in another order. */
export async function lockRows(queries: Queries, dialect: Dialect, rows: readonly DeliveryRow[]): Promise<void> {
  const { uuid, hexOf, lockRow, lookUp, isDistributed } = dialect;
  // SQLite has one writer.
  if (lockRow === '') return;
  const named = rows.map((row) => ({ ...row, name: `${hexOf(row.entity)} ${hexOf(row.id)}` }));
  for (const chunk of chunks(named.sort((a, b) => (a.name < b.name ? -1 : 1)))) {
    // Rows are looked up in the order of the list on one server; a worker of Citus joins them as it likes.
    await queries.all(
      `with wanted (entity_id, id) as (values ${valuesList(chunk.length, 2, 0, [uuid, uuid])})
       select w.id from wanted w
       ${lookUp('cross join', 'queue', 'q', { entity_id: 'w.entity_id', id: 'w.id' })}
       ${isDistributed ? 'order by q.id' : ''} ${lockRow} of q`,
      chunk.flatMap(({ entity, id }): SqlValue[] => [entity, id]),
    );
  }
}

const ofKey = 'q.entity_id = k.entity_id and q.endpoint_no = k.endpoint_no and q.order_key = k.order_key';

const withKeys = ({ uuid }: Dialect, rows: number) =>
  `with k (entity_id, endpoint_no, order_key) as (values ${valuesList(rows, 3, 0, [uuid, 'bigint', uuid])})`;

const keyColumns = new Columns({
  entity: uuid('entity_id'),
  endpointNo: integer('endpoint_no'),
  key: uuid('order_key'),
});

/** A delivery about to be inserted. */
export type Joining = { readonly entityId: string; readonly endpointNo: number; readonly key: SqlUuid };

/** Locks the keys and returns those of the deliveries that have to wait for others: all but the first of a free key. */
export async function joinKeys<Delivery extends Joining>(
  queries: Queries,
  dialect: Dialect,
  deliveries: readonly Delivery[],
): Promise<Set<Delivery>> {
  const keyOf = ({ entityId, endpointNo, key }: Joining) => ({ entity: entityKey(dialect, entityId), endpointNo, key });
  const keys = deliveries.map(keyOf);
  await lockKeys(queries, dialect, keys);
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
  const parked = new Set<Delivery>();
  for (const delivery of deliveries) {
    const name = nameOf(dialect, keyOf(delivery));
    if (taken.has(name)) parked.add(delivery);
    taken.add(name);
  }
  return parked;
}

/** A delivery that has its turn now: the caller wakes its head, together with others, in one order. */
export type Promotion = {
  readonly destination: DestinationKey;
  readonly entityId: string;
  readonly webhookNo: number;
  readonly atMs: number;
  readonly isWaiting: true;
};

/** Without an id, and all that follows it, where nothing waits in the key. */
const firstColumns = new Columns({
  entity: uuid('f.entity_id'),
  endpointNo: integer('f.endpoint_no'),
  key: uuid('f.order_key'),
  id: nullable(uuid('f.id')),
  webhookNo: integer('d.webhook_no'),
  generation: nullable(integer('d.generation')),
  dueMs: integer('d.due_ms'),
});
type First = RowOf<typeof firstColumns>;

/**
 * For keys that are locked and from which deliveries may have left: gives the turn to the first of each, and forgets the keys
 * that nothing waits in.
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
      `${withKeys(dialect, chunk.length)}, f as (select k.entity_id, k.endpoint_no, k.order_key, (
           select q.id from queue q where ${ofKey} and q.order_key is not null${dialect.ofEntity('q')}
           order by q.sequence limit 1) as id from k)
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
    `delete from order_keys where (entity_id, endpoint_no, order_key) in
       (values ${valuesList(keys.length, 3, 0, [dialect.uuid, 'bigint', dialect.uuid])})${dialect.ofEntity('order_keys')}`,
    keys.flatMap(({ entity, endpointNo, key }): SqlValue[] => [entity, endpointNo, key]),
  );
}

const headColumns = new Columns({
  destination: text<DestinationKey>('destination'),
  generation: integer('generation'),
});

/** Due now at the earliest, because a claim passes over rows that were due long before it (`look_from_ms`). */
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
