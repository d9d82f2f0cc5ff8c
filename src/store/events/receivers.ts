import { type DestinationKey, destinationKey } from '../../domain/post-url.ts';
import type { Dialect, Queries, SqlInteger, SqlValue } from '../database/database.ts';
import {
  Columns,
  entityKey,
  integer,
  nullable,
  ROWS_PER_STATEMENT,
  type RowOf,
  text,
  textByRows,
  valuesList,
} from '../database/sql.ts';
import { type EndpointOfHead, urlKey } from '../deliveries/head-endpoints.ts';
import { type HeadTarget, makeHeads } from '../deliveries/heads.ts';
import { REVISION } from '../tenants/tables.ts';
import { type AcceptanceRun, cellKey, isSameCell, type NewEvent, type Receiver } from './acceptance.ts';

/** Finds the webhooks that get an event, each with the head of its queue. */

/** A webhook (`w`), its entity (`n`) and its head (`h`), which is missing before the first event. */
export const receiverColumns = new Columns({
  entityId: text('w.entity_id'),
  networkId: integer('w.network_id'),
  event: text('w.event'),
  webhookId: text('w.id'),
  webhookNo: integer('w.created_seq'),
  postUrl: text('w.post_url'),
  suspendedAt: nullable(integer('w.suspended_at')),
  filterHash: nullable(text('w.filter_hash')),
  finality: nullable(text('w.finality')),
  endpointNo: nullable(integer('h.endpoint_no')),
  destination: nullable(text<DestinationKey>('h.destination')),
  ordering: nullable(integer('h.ordering')),
  blocked: nullable(integer('h.blocked')),
  generation: nullable(integer('h.generation')),
  failingSinceMs: nullable(integer('h.failing_since_ms')),
  revision: integer(REVISION),
  registryRevision: integer('n.revision'),
});
type ReceiverRow = RowOf<typeof receiverColumns>;

const CELL = { entity_id: 'c.entity_id', network_id: 'c.network_id', event: 'c.event' };

/**
 * The first webhooks of each cell by number, at most one more than a transaction may insert. The additional webhook shows that
 * there are more.
 */
const receiversText = (dialect: Dialect) =>
  textByRows(
    (rows) => `with c (entity_key, entity_id, network_id, event) as materialized
        (values ${valuesList(rows, 4, 0, [dialect.uuid, 'text', 'bigint', 'text'])})
      select ${receiverColumns.list} from c
        ${dialect.lookUp('cross join', 'entities', 'n', { id: 'c.entity_id' })}
        ${dialect.firstOf('webhooks', 'w', CELL, { by: 'created_seq', limit: dialect.limits.deliveries + 1 })}
        ${dialect.lookUp('left join', 'queue_heads', 'h', { entity_id: 'c.entity_key', webhook_no: 'w.created_seq' })}`,
  );
const receiversTexts = new WeakMap<Dialect, (rows: number) => string>();

/** Part of the first statement of an acceptance. If no listen session exists, sessions cost nothing else. */
const isListened = ({ ofEntity }: Dialect) =>
  `case when exists (select 1 from listen_sessions l where 1 = 1${ofEntity('l')}) then 1 else 0 end as listened`;

/** How many cells the first statement reads. One cell may have thousands of webhooks, so a hundred cells could take seconds. */
const FIRST_CELLS = 4;

/**
 * Finds the webhooks that get each event, for the first events, as many as one transaction has room for. Also reads the
 * database's clock, because due times are by that clock.
 */
export async function findReceivers(run: AcceptanceRun): Promise<void> {
  const { queries, dialect, events } = run;
  // This statement is sent together with the next one, which reads the first receivers.
  const beginning = queries.get<{ now_ms: SqlInteger; listened: SqlInteger }>(
    `${dialect.planForClaims}, ${isListened(dialect)}`,
    dialect.isDistributed ? events.slice(0, 1).map(({ entityId }) => entityKey(dialect, entityId)) : [],
  );
  // If the next statement fails first, nothing awaits this one, and its failure would end the process.
  beginning.catch(() => undefined);
  const textOf = receiversTexts.get(dialect) ?? receiversText(dialect);
  receiversTexts.set(dialect, textOf);
  const cells = distinctCells(events);
  const rows: ReceiverRow[] = [];
  const most = dialect.limits.deliveries;
  let read = 0;
  while (read < cells.length && rows.length < most) {
    // If the first cells had many webhooks, the next statement reads only as many cells as are likely to fit.
    const usual = Math.max(1, rows.length / Math.max(1, read));
    const size = read === 0 ? FIRST_CELLS : Math.min(ROWS_PER_STATEMENT, Math.ceil(most / usual));
    const some = cells.slice(read, read + size);
    const values = some.flatMap(({ entityId, networkId, event }): SqlValue[] => [
      entityKey(dialect, entityId),
      entityId,
      networkId,
      event,
    ]);
    rows.push(...(await receiverColumns.all(queries, textOf(some.length), values)));
    read += some.length;
  }
  rows.sort((a, b) => a.webhookNo - b.webhookNo);
  const begun = await beginning;
  const nowMs = Number(begun?.now_ms ?? 0);
  dialect.leaseClock.note(nowMs);
  const receivers = new Map<string, Receiver[]>(cells.slice(0, read).map((cell) => [cellKey(cell), []]));
  for (const receiver of await toReceivers(queries, dialect, rows, nowMs)) receivers.get(receiver.cell)?.push(receiver);
  run.group.nowMs = nowMs;
  run.receivers = receivers;
  run.isListened = Number(begun?.listened) === 1;
}

/** Returns one event of each cell. Most events that arrive together have one cell. */
function distinctCells(events: readonly NewEvent[]): NewEvent[] {
  const cells = new Map<string, NewEvent>();
  let last: NewEvent | undefined;
  for (const event of events) {
    if (last === undefined || !isSameCell(event, last)) cells.set(cellKey(event), event);
    last = event;
  }
  return [...cells.values()];
}

/** Converts rows to receivers, and makes the missing heads. */
export async function toReceivers(
  queries: Queries,
  dialect: Dialect,
  rows: readonly ReceiverRow[],
  nowMs: number,
): Promise<(Receiver & { cell: string })[]> {
  const headless = rows.filter(({ endpointNo }) => endpointNo === null);
  const targets = headless.map((row): HeadTarget => ({ ...row, isSuspended: row.suspendedAt !== null }));
  const endpoints = targets.length === 0 ? null : await makeHeads(queries, dialect, targets, nowMs);
  return rows.map((row) => ({ ...toReceiver(row, endpoints), cell: cellKey(row) }));
}

function toReceiver(row: ReceiverRow, endpoints: ReadonlyMap<string, EndpointOfHead> | null): Receiver {
  const { entityId, webhookNo, webhookId, postUrl, failingSinceMs, revision, registryRevision, filterHash } = row;
  const made = endpoints?.get(urlKey(row));
  return {
    webhookNo,
    webhookId,
    postUrl,
    destination: row.destination ?? destinationKey(entityId, postUrl),
    endpointNo: row.endpointNo ?? made?.no ?? 0,
    isOrdered: (row.ordering ?? made?.ordering ?? 0) !== 0,
    isBlocked: row.suspendedAt !== null || (row.blocked ?? 0) !== 0,
    generation: row.generation ?? 0,
    failingSinceMs,
    revision,
    registryRevision,
    filterHash,
    finality: row.finality,
  };
}
