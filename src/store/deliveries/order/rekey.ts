import { DomainError } from '../../../domain/errors.ts';
import { eventNumber } from '../../../domain/ids.ts';
import type { Dialect, Queries, SqlUuid, SqlValue } from '../../database/database.ts';
import {
  Columns,
  chunks,
  entityKey,
  integer,
  nullable,
  type RowOf,
  readInteger,
  uuid,
  valuesList,
} from '../../database/sql.ts';
import { HeadChangedError, lockHeads } from '../head-locks.ts';
import { wakeHeads } from '../heads.ts';
import { retractionHeadNo, webhookOfHead } from '../retraction-heads.ts';
import { headTable } from '../tables.ts';
import { drawTurns, lockKeys, lockRows, orderKeyOf, type Scope, settleKeys } from './order-keys.ts';

/**
 * Gives waiting deliveries the order key of another scope if their webhook moves or the ordering of its endpoint changes.
 *
 * | the delivery is about                         | its key becomes                          |
 * |-----------------------------------------------|------------------------------------------|
 * | an agreement, and the endpoint is ordered now | of the endpoint and the agreement        |
 * | a payment                                     | of the webhook and the payment           |
 * | an agreement alone, and the endpoint is not   | unchanged, so its order stays the same   |
 *
 * If several keys become one key, their deliveries are merged in the order of acceptance. A delivery in flight keeps its turn,
 * and all other deliveries wait for it: the first request to a new URL follows the last request to the old URL. Deliveries
 * without a key get none, because ordering applies only to events that are accepted after it was switched on.
 */

/** Deliveries that may be read for each one that may get another key. */
const READ_FACTOR = 10;

const headColumns = headTable.pick(['webhookNo', 'endpointNo', 'ordering']);

const rowColumns = new Columns({
  id: uuid('id'),
  webhookNo: integer('webhook_no'),
  leaseMs: integer('lease_ms'),
  key: uuid('order_key'),
  turn: integer('turn'),
  agreement: nullable(uuid('agreement_hash')),
  payment: nullable(uuid('payment_hash')),
});
type Row = RowOf<typeof rowColumns>;
type Moving = Row & { readonly newKey: SqlUuid };

export type Rescoped = { readonly entityId: string; readonly scopes: readonly Scope[]; readonly nowMs: number };

/**
 * Call it under the lock of the entity, before its heads are changed. Fails if more deliveries wait than one transaction can
 * move.
 */
export async function rekey(queries: Queries, dialect: Dialect, change: Rescoped): Promise<void> {
  const { entityId, nowMs } = change;
  const entity = entityKey(dialect, entityId);
  const heads = await findHeads(queries, dialect, change);
  if (heads.length === 0) return;
  const moving = await findMoving(queries, dialect, change, heads, await findIndex(queries, dialect, entity, heads));
  if (moving.length === 0) return;
  const newKeys = distinct(
    dialect,
    moving.map(({ newKey }) => newKey),
  );
  const keys = [...moving.map(({ key }) => key), ...newKeys].map((key) => ({ entity, key }));
  await lockKeys(queries, dialect, keys);
  const met = await readRows(queries, entity, 'order_key', newKeys);
  if (moving.length + met.length > dialect.limits.rows) throw await tooMany(queries, dialect, entity, heads);
  const ids = [...moving, ...met].map(({ id }) => id);
  await lockRows(
    queries,
    dialect,
    ids.map((id) => ({ entity, id })),
  );
  const newKeyOf = new Map(moving.map(({ id, newKey }) => [dialect.hexOf(id), newKey]));
  const current = (await readRows(queries, entity, 'id', ids)).map((row) => ({
    ...row,
    newKey: newKeyOf.get(dialect.hexOf(row.id)) ?? row.key,
  }));
  const endedByMs = dialect.leaseClock.endedBy(nowMs);
  for (const members of Map.groupBy(current, ({ newKey }) => dialect.hexOf(newKey)).values()) {
    await writeTurns(queries, dialect, entity, merge(dialect, members, endedByMs), endedByMs);
  }
  const promoted = await settleKeys(queries, dialect, keys, nowMs);
  const touched = [...promoted, ...heads.map(({ webhookNo }) => ({ entityId, webhookNo }))];
  await lockHeads(queries, dialect, touched);
  await wakeHeads(queries, dialect, promoted);
}

/**
 * Fails if a delivery still has the key of the old scope. Call it after the heads were changed, because an acceptance may have
 * added such deliveries since `rekey`.
 */
export async function requireRekeyed(queries: Queries, dialect: Dialect, change: Rescoped): Promise<void> {
  // SQLite has one writer, so no acceptance can come in between.
  if (dialect.lockRow === '') return;
  const heads = change.scopes.flatMap(({ webhookNo }) => [{ webhookNo }, { webhookNo: retractionHeadNo(webhookNo) }]);
  if ((await findMoving(queries, dialect, change, heads)).length > 0) throw new HeadChangedError();
}

/** The heads whose deliveries may need another key, because the old or the new endpoint is ordered. */
async function findHeads(
  queries: Queries,
  dialect: Dialect,
  { entityId, scopes }: Rescoped,
): Promise<RowOf<typeof headColumns>[]> {
  const scopeOf = new Map(scopes.map((scope) => [scope.webhookNo, scope]));
  const found: RowOf<typeof headColumns>[] = [];
  for (const chunk of chunks(scopes.flatMap(({ webhookNo }) => [webhookNo, retractionHeadNo(webhookNo)]))) {
    const sql = `select ${headColumns.list} from queue_heads where entity_id = $1 and webhook_no in ${valuesList(1, chunk.length, 1)}`;
    found.push(...(await headColumns.all(queries, sql, [entityKey(dialect, entityId), ...chunk])));
  }
  return found.filter(({ webhookNo, ordering }) => {
    return ordering !== 0 || scopeOf.get(webhookOfHead(webhookNo))?.isOrdered === true;
  });
}

type HeadNo = { readonly webhookNo: number };

/**
 * Decides how to read the deliveries: by their order keys, or by the queues of the heads. Returns the index to use. Fails if both
 * ways read too many rows.
 */
async function findIndex(
  queries: Queries,
  dialect: Dialect,
  entity: SqlUuid,
  heads: readonly HeadNo[],
): Promise<string> {
  const most = READ_FACTOR * dialect.limits.rows;
  const byKey = dialect.byIndex('queue_by_order');
  const count = (rows: string) => `from (select 1 from queue ${rows} limit ${most + 1}) q`;
  const keyed = count(`${byKey} where entity_id = $1 and order_key is not null`);
  if ((await readInteger(queries, 'count(*)', keyed, [entity])) <= most) return byKey;
  let rows = 0;
  for (const chunk of chunks(heads)) {
    const ofHeads = count(`where entity_id = $1 and webhook_no in ${valuesList(1, chunk.length, 1)}`);
    rows += await readInteger(queries, 'count(*)', ofHeads, [entity, ...chunk.map(({ webhookNo }) => webhookNo)]);
  }
  if (rows > most) throw await tooMany(queries, dialect, entity, heads);
  return '';
}

async function tooMany(
  queries: Queries,
  { limits }: Dialect,
  entity: SqlUuid,
  heads: readonly HeadNo[],
): Promise<DomainError> {
  let waiting = 0;
  for (const chunk of chunks(heads)) {
    const from = `from queue_counts where entity_id = $1 and webhook_no in ${valuesList(1, chunk.length, 1)}`;
    const key = [entity, ...chunk.map(({ webhookNo }) => webhookNo)];
    waiting += await readInteger(queries, 'coalesce(sum(waiting), 0)', from, key);
  }
  return new DomainError('ordered_deliveries_waiting', { waiting, limit: limits.rows });
}

async function findMoving(
  queries: Queries,
  dialect: Dialect,
  { entityId, scopes }: Rescoped,
  heads: readonly HeadNo[],
  index = '',
): Promise<Moving[]> {
  const scopeOf = new Map(scopes.map((scope) => [scope.webhookNo, scope]));
  const nos = heads.map(({ webhookNo }) => webhookNo);
  const rows = await readRows(queries, entityKey(dialect, entityId), 'webhook_no', nos, index);
  return rows.flatMap((row) => {
    const scope = scopeOf.get(webhookOfHead(row.webhookNo));
    const newKey = scope === undefined ? null : orderKeyOf(dialect, row, { ...scope, webhookNo: row.webhookNo });
    return newKey === null || dialect.hexOf(newKey) === dialect.hexOf(row.key) ? [] : { ...row, newKey };
  });
}

/** The rows with an order key, by one of their columns. */
async function readRows(
  queries: Queries,
  entity: SqlUuid,
  column: 'id' | 'order_key' | 'webhook_no',
  values: readonly SqlValue[],
  index = '',
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const chunk of chunks(values)) {
    const sql = `select ${rowColumns.list} from queue ${index}
      where entity_id = $1 and ${column} in ${valuesList(1, chunk.length, 1)} and order_key is not null`;
    rows.push(...(await rowColumns.all(queries, sql, [entity, ...chunk])));
  }
  return rows;
}

function distinct(dialect: Dialect, keys: readonly SqlUuid[]): SqlUuid[] {
  return [...new Map(keys.map((key) => [dialect.hexOf(key), key])).values()];
}

/**
 * Merges the queues of several keys: deliveries in flight first, then all others in the order of their events. Deliveries of one
 * key keep the order of their turns, because the numbers of their events may have another order after the clock was set back.
 */
function merge(dialect: Dialect, members: readonly Moving[], endedByMs: number): Moving[] {
  const byKey = Map.groupBy(members, ({ key }) => dialect.hexOf(key));
  const queues = [...byKey.values()].map((queue) => queue.toSorted((a, b) => a.turn - b.turn));
  const merged = queues.flatMap((queue) => queue.filter(({ leaseMs }) => leaseMs > endedByMs));
  const rest = queues.map((queue) => queue.filter(({ leaseMs }) => leaseMs <= endedByMs));
  const numberOf = (queue: readonly Moving[]) =>
    queue[0] === undefined ? '' : eventNumber(dialect.hexOf(queue[0].id));
  for (;;) {
    const [next] = rest.filter(({ length }) => length > 0).sort((a, b) => (numberOf(a) < numberOf(b) ? -1 : 1));
    const first = next?.shift();
    if (first === undefined) return merged;
    merged.push(first);
  }
}

/**
 * Writes the new keys and turns. Only deliveries in flight may be sent now. If there are none, `settleKeys` gives the turn to the
 * first delivery.
 */
async function writeTurns(
  queries: Queries,
  dialect: Dialect,
  entity: SqlUuid,
  members: readonly Moving[],
  endedByMs: number,
): Promise<void> {
  const turns = await drawTurns(
    queries,
    dialect,
    members.map(({ newKey }) => ({ entity, key: newKey })),
  );
  for (const [index, { id, newKey }] of members.entries()) {
    await queries.run(
      `update queue set order_key = $3, turn = $4, generation = case when lease_ms > $5 then generation end
       where entity_id = $1 and id = $2`,
      [entity, id, newKey, turns[index] ?? 0, endedByMs],
    );
  }
}
