import { type WaitsFor, waitsFor } from '../../../contract/deliveries/waits-for.ts';
import type { DeliveryStatus } from '../../../domain/attempt.ts';
import type { DestinationKey } from '../../../domain/post-url.ts';
import type { Dialect, Queries, SqlUuid } from '../../database/database.ts';
import { Columns, entityKey, integer, nullable, type RowOf, text, uuid } from '../../database/sql.ts';
import { readLastFailures } from '../../endpoints/last-failures.ts';
import { BLOCKED } from '../heads.ts';
import { readPausers, readSuspensions } from './held.ts';
import { type InProgress, readInProgress } from './receivers.ts';

/** Why deliveries were not sent yet, according to their heads, their order keys and the requests in progress. */

const waitingColumns = new Columns({
  id: uuid('q.id'),
  webhookNo: integer('q.webhook_no'),
  orderKey: nullable(uuid('q.order_key')),
  generation: nullable(integer('q.generation')),
  dueMs: integer('q.due_ms'),
  leaseMs: integer('q.lease_ms'),
  webhookId: text('h.webhook_id'),
  blocked: integer('h.blocked'),
  headGeneration: integer('h.generation'),
  failingSinceMs: nullable(integer('h.failing_since_ms')),
  destination: text<DestinationKey>('h.destination'),
  endpointNo: integer('h.endpoint_no'),
  pausedMs: nullable(integer('e.paused_at_ms')),
  rateLimit: nullable(integer('e.rate_limit')),
});
type Waiting = RowOf<typeof waitingColumns>;

const UNSENT: readonly DeliveryStatus[] = ['pending', 'retrying', 'held'];

type Shown = { readonly deliveryId: string; readonly status: DeliveryStatus };

type Scope = {
  readonly queries: Queries;
  readonly dialect: Dialect;
  readonly entityId: string;
  readonly nowMs: number;
};

/** The reasons why deliveries wait, by the ids of the deliveries. A delivery that is complete has no entry. */
export async function readWaits(scope: Scope, deliveries: readonly Shown[]): Promise<Map<string, WaitsFor>> {
  const unsent = deliveries.filter(({ status }) => UNSENT.includes(status));
  if (unsent.length === 0) return new Map();
  const { dialect } = scope;
  const rows = await readWaiting(
    scope,
    unsent.map(({ deliveryId }) => deliveryId),
  );
  const facts = await readFacts(scope, rows);
  return new Map(rows.map((row) => [`dlv_${dialect.hexOf(row.id)}`, decide(scope, row, facts)]));
}

async function readWaiting({ queries, dialect, entityId }: Scope, ids: readonly string[]): Promise<Waiting[]> {
  const from = `from queue q join queue_heads h on h.entity_id = q.entity_id and h.webhook_no = q.webhook_no
    left join endpoints e on e.entity_id = h.entity_id and e.no = h.endpoint_no where q.entity_id = $1 and q.id in`;
  const keys = ids.map((id) => dialect.bindUuid(id.slice('dlv_'.length)));
  return waitingColumns.allIn(queries, from, [entityKey(dialect, entityId)], keys);
}

type Facts = {
  readonly pausers: Awaited<ReturnType<typeof readPausers>>;
  readonly suspensions: Awaited<ReturnType<typeof readSuspensions>>;
  readonly failures: Awaited<ReturnType<typeof readLastFailures>>;
  readonly inProgress: ReadonlyMap<DestinationKey, InProgress>;
  readonly firsts: ReadonlyMap<string, string>;
  readonly backlogs: ReadonlyMap<number, number>;
};

/** Reads each part only for the rows that need it, with one statement or a bounded number of statements. */
async function readFacts(scope: Scope, rows: readonly Waiting[]): Promise<Facts> {
  const { queries, dialect, entityId, nowMs } = scope;
  const entity = entityKey(dialect, entityId);
  const open = rows.filter(({ blocked, generation }) => blocked === 0 && generation !== null);
  const due = open.filter((row) => isDue(row, nowMs));
  const failing = due.filter(({ failingSinceMs }) => failingSinceMs !== null).map(({ webhookNo }) => webhookNo);
  const limited = due.filter(({ rateLimit }) => rateLimit !== null).map(({ endpointNo }) => endpointNo);
  const [pausers, suspensions, failures, inProgress, firsts, backlogs] = await Promise.all([
    readPausers(queries, entityId, rows.filter(isPaused)),
    readSuspensions(queries, entityId, rows.filter(isSuspended)),
    readLastFailures(queries, dialect, entity, [...new Set(failing)]),
    readInProgress(
      { queries, entity, nowMs },
      due.map(({ destination }) => destination),
    ),
    readFirsts(scope, rows.filter(isParked)),
    readBacklogs(queries, entity, [...new Set(limited)]),
  ]);
  return { pausers, suspensions, failures, inProgress, firsts, backlogs };
}

function isPaused({ blocked }: Waiting): boolean {
  return (blocked & BLOCKED.paused) !== 0;
}

function isSuspended(row: Waiting): boolean {
  return !isPaused(row) && (row.blocked & BLOCKED.suspended) !== 0;
}

function isParked({ blocked, generation }: Waiting): boolean {
  return blocked === 0 && generation === null;
}

/** A resume makes rows of an older generation due at once. A row with a lease is being sent. */
function isDue({ dueMs, leaseMs, generation, headGeneration }: Waiting, nowMs: number): boolean {
  return dueMs <= nowMs || leaseMs > nowMs || (generation ?? headGeneration) < headGeneration;
}

function decide({ dialect, nowMs }: Scope, row: Waiting, facts: Facts): WaitsFor {
  if (isPaused(row)) {
    const pauser = facts.pausers.get(row.endpointNo) ?? { actor: null, actorName: null };
    return waitsFor('paused', { dateSince: secondsOf(row.pausedMs), ...pauser });
  }
  if (isSuspended(row)) return waitsFor('suspended', { ...facts.suspensions.get(row.webhookId) });
  const first = row.orderKey === null ? undefined : facts.firsts.get(dialect.hexOf(row.orderKey));
  const ownId = `dlv_${dialect.hexOf(row.id)}`;
  if (row.generation === null && first !== ownId) return waitsFor('order', { deliveryId: first ?? null });
  if (!isDue(row, nowMs)) return waitsFor('retry', { dateUntil: secondsOf(row.dueMs) });
  return decideDue(row, facts, nowMs);
}

/** A receiver that answers within this time is not the reason why a delivery waits. */
const SLOW_AFTER_MS = 5_000;

function decideDue(row: Waiting, facts: Facts, nowMs: number): WaitsFor {
  const { webhookNo, failingSinceMs, destination, endpointNo, rateLimit, dueMs } = row;
  const { requests, oldestMs } = facts.inProgress.get(destination) ?? { requests: 0, oldestMs: null };
  const isSlow = oldestMs !== null && nowMs - oldestMs >= SLOW_AFTER_MS;
  if (failingSinceMs !== null || isSlow) {
    return waitsFor('receiver', {
      requests,
      dateSince: secondsOf(failingSinceMs ?? oldestMs),
      ...facts.failures.get(webhookNo),
    });
  }
  if (rateLimit !== null) {
    const waiting = facts.backlogs.get(endpointNo) ?? 0;
    const dateUntil = secondsOf(nowMs + (waiting / rateLimit) * 1000);
    return waitsFor('rate_limit', { requestsPerSecond: rateLimit, dateUntil });
  }
  return waitsFor('slot', { dateSince: secondsOf(Math.min(dueMs, nowMs)) });
}

function secondsOf(ms: number | null): number | null {
  return ms === null ? null : Math.floor(ms / 1000);
}

const firstColumns = new Columns({ key: uuid('order_key'), id: uuid('id') });

/** The first delivery of each order key, for which the other deliveries of the key wait. */
async function readFirsts(
  { queries, dialect, entityId }: Scope,
  parked: readonly Waiting[],
): Promise<Map<string, string>> {
  const { bindUuid, hexOf } = dialect;
  const keys = new Set(parked.flatMap(({ orderKey }) => (orderKey === null ? [] : hexOf(orderKey))));
  const rows = await firstColumns.allIn(
    queries,
    `from queue q where entity_id = $1 and order_key is not null and turn = (select min(m.turn) from queue m
       where m.entity_id = $1 and m.order_key = q.order_key and m.order_key is not null) and order_key in`,
    [entityKey(dialect, entityId)],
    [...keys].map(bindUuid),
  );
  return new Map(rows.map(({ key, id }) => [hexOf(key), `dlv_${hexOf(id)}`]));
}

const backlogColumns = new Columns({ endpointNo: integer('h.endpoint_no'), waiting: integer('sum(c.waiting)') });

/** The number of deliveries that wait for each endpoint, including the deliveries before a given one. */
async function readBacklogs(
  queries: Queries,
  entity: SqlUuid,
  endpointNos: readonly number[],
): Promise<Map<number, number>> {
  const from = `from queue_heads h join queue_counts c on c.entity_id = h.entity_id and c.webhook_no = h.webhook_no
    where h.entity_id = $1 and h.endpoint_no in`;
  const rows = await backlogColumns.allIn(queries, from, [entity], endpointNos, 'group by h.endpoint_no');
  return new Map(rows.map(({ endpointNo, waiting }) => [endpointNo, waiting]));
}
