import { lastDeliveryHex } from '../../domain/ids.ts';
import type { EventProgress } from '../../domain/reconciliation/book.ts';
import { findOpenEvents } from '../chain/read/open-events.ts';
import type { Database, Queries, SqlUuid, SqlValue } from '../database/database.ts';
import { Columns, entityKey, integer, type RowOf, uuid, valuesList } from '../database/sql.ts';
import { MAY_BE_RECEIVED, STATUS_CODES } from '../deliveries/states.ts';
import { type EndpointWebhooks, findWanted } from './endpoint-webhooks.ts';

/** How far the deliveries of events have come: all deliveries, or the deliveries to one endpoint. */

export type ProgressScope = { readonly entityId: string; readonly endpointNo: number | undefined };

export type CountedEvent = {
  readonly no: SqlUuid;
  readonly networkId: number;
  readonly event: string;
  readonly body: string;
};

/** Counts the deliveries that an event needs. Cancelled and superseded deliveries do not count. */
const countColumns = new Columns({
  no: uuid('no'),
  acknowledged: integer('acknowledged'),
  complete: integer('complete'),
  open: integer('open'),
  /** Open deliveries with at least one attempt. */
  tried: integer('tried'),
  /** Deliveries that a receiver may have. */
  received: integer('received'),
});
type CountRow = RowOf<typeof countColumns>;
type Counts = Omit<CountRow, 'no'>;

/** The deliveries of an event as one state. */
type Delivered = {
  readonly progress: EventProgress;
  /** Whether a receiver may have the event, even if a later event superseded it. */
  readonly isSent: boolean;
};

/** The deliveries of events, by the number of the event as hex. An event without an entry has no deliveries. */
export async function readDelivered(
  queries: Queries,
  db: Database,
  scope: ProgressScope,
  numbers: readonly SqlUuid[],
): Promise<Map<string, Delivered>> {
  if (numbers.length === 0) return new Map();
  const counts = await countByRange(queries, db, scope, numbers);
  return new Map(
    counts.flatMap((row): [string, Delivered][] => {
      const isSent = row.received > 0;
      if (row.complete + row.open === 0 && !isSent) return [];
      return [[db.dialect.hexOf(row.no), { progress: progressOf(row), isSent }]];
    }),
  );
}

/**
 * The progress of each event, by its number as hex. An event that is not in the result has nothing to deliver. With
 * `webhooks`, the endpoint's current webhooks, an event without a delivery may still reach the endpoint.
 */
export async function readProgress(
  queries: Queries,
  db: Database,
  scope: ProgressScope,
  events: readonly CountedEvent[],
  webhooks: EndpointWebhooks | undefined,
): Promise<Map<string, EventProgress>> {
  if (events.length === 0) return new Map();
  const { hexOf } = db.dialect;
  const numbers = events.map(({ no }) => no);
  const delivered = await readDelivered(queries, db, scope, numbers);
  const progress = new Map<string, EventProgress>();
  for (const [no, one] of delivered) if (one.progress !== 'nothing') progress.set(no, one.progress);
  const unfinished = await findUnfinished(queries, db, scope.entityId, numbers, webhooks);
  if (webhooks !== undefined) {
    const others = events.filter(({ no }) => unfinished.has(hexOf(no)) && !progress.has(hexOf(no)));
    const wanted = new Set(await findWanted(queries, scope.entityId, webhooks, others));
    for (const event of others) if (!wanted.has(event)) unfinished.delete(hexOf(event.no));
  }
  for (const no of unfinished) progress.set(no, 'waiting');
  return progress;
}

const { delivered, cancelled, superseded } = STATUS_CODES;
const IS_DELIVERED = `status = ${delivered}`;
const IS_NEEDED = `status not in (${cancelled}, ${superseded})`;
const WAS_DELIVERED = `recorded = ${delivered}`;

/** The same condition as in the task of a retraction. */
const WAS_RECEIVED = `status <> ${cancelled} and (attempts > 0 or may_be_received = 1)`;

/** The endpoint of the last request. */
const SENT_TO = 'coalesce(sent_to_no, endpoint_no)';
/** The endpoint that acknowledged the delivery or, until one does, the endpoint of the next request. */
const BELONGS_TO = `case when ${WAS_DELIVERED} then ${SENT_TO} else (select h.endpoint_no from queue_heads h
  where h.entity_id = $1 and h.webhook_no = queue.webhook_no) end`;

/** Counts with subselects for each event, because on PostgreSQL a join over the ranges reads all deliveries of the entity. */
function countByRange(
  queries: Queries,
  { dialect }: Database,
  { entityId, endpointNo }: ProgressScope,
  numbers: readonly SqlUuid[],
): Promise<CountRow[]> {
  const { uuid, bindUuid, hexOf } = dialect;
  const own = endpointNo === undefined ? [] : [endpointNo];
  const count = (table: 'deliveries' | 'queue', condition = '') => {
    const ofEndpoint = own.length === 0 ? '' : `and ${table === 'queue' ? BELONGS_TO : SENT_TO} = $2`;
    return `(select count(*) from ${table} where entity_id = $1 and id > e.no and id <= e.last ${condition} ${ofEndpoint})`;
  };
  return countColumns.all(
    queries,
    `with e (no, last) as (values ${valuesList(numbers.length, 2, 1 + own.length, [uuid, uuid])}), counts as (
       select no, ${count('deliveries', `and ${IS_DELIVERED}`)} + ${count('queue', `and ${WAS_DELIVERED}`)} as acknowledged,
         ${count('deliveries', `and ${IS_NEEDED}`)} as complete, ${count('queue')} as open,
         ${count('queue', 'and attempts > 0')} as tried,
         ${count('deliveries', `and ${WAS_RECEIVED}`)} + ${count('queue', `and ${MAY_BE_RECEIVED} = 1`)} as received
       from e)
     select ${countColumns.list} from counts`,
    [
      entityKey(dialect, entityId),
      ...own,
      ...numbers.flatMap((no): SqlValue[] => [no, bindUuid(lastDeliveryHex(hexOf(no)))]),
    ],
  );
}

function progressOf({ acknowledged, complete, open, tried }: Counts): EventProgress {
  if (complete + open === 0) return 'nothing';
  if (acknowledged === complete + open) return 'acknowledged';
  if (open === 0) return 'failed';
  return complete + tried > 0 ? 'sent' : 'waiting';
}

/** Finds events that will get further deliveries, even if all their present deliveries were acknowledged. Returns their numbers as hex. */
export async function findUnfinished(
  queries: Queries,
  { dialect }: Database,
  entityId: string,
  numbers: readonly SqlUuid[],
  webhooks: EndpointWebhooks | undefined,
): Promise<Set<string>> {
  if (numbers.length === 0) return new Set();
  const tasks = await queries.all<{ no: SqlUuid }>(
    `select event_no as no from tasks where entity_id = $1 and event_no in ${valuesList(1, numbers.length, 1)}`,
    [entityKey(dialect, entityId), ...numbers],
  );
  const open = await findOpenEvents(queries, dialect, entityId, numbers, webhooks);
  for (const { no } of tasks) open.add(dialect.hexOf(no));
  return open;
}
