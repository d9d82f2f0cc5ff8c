import type { AttemptKind, DeliveryStatus } from '../../domain/attempt.ts';
import { eventNumber } from '../../domain/ids.ts';
import { type DestinationKey, entityOfDestination } from '../../domain/post-url.ts';
import type { Database, Dialect, Queries, SqlInteger, SqlUuid, SqlValue } from '../database/database.ts';
import { chunks, entityKey, valuesList } from '../database/sql.ts';
import { REVISION } from '../tables.ts';
import type { Claimed } from './claimed.ts';
import { wakeHeads } from './heads.ts';
import { PARKED } from './order/order-keys.ts';
import { statusOfCode } from './states.ts';

/**
 * Claiming due deliveries: with a lease by the database's clock, so that the work of a dead instance becomes due again by
 * itself, and a token that counts the claims, so that an instance which was only thought dead records no failure of what
 * another has claimed since. These statements are the dispatcher's own and serve all entities.
 */

export type Pick = { destination: DestinationKey; most: number };

export type ClaimResult = {
  claimed: Claimed[];
  /** Destinations that gave as many as were asked for, and so may have more. */
  mayHaveMore: DestinationKey[];
};

/** All picks in one transaction and, on PostgreSQL, one statement: with the database 10 ms away, one each never ends. */
export function claimDeliveries(db: Database, picks: readonly Pick[], leaseMs: number): Promise<ClaimResult> {
  const { dialect } = db;
  return db.transaction(async (queries) => {
    const clock = await queries.get<{ now_ms: SqlInteger }>(dialect.planForClaims);
    const nowMs = Number(clock?.now_ms ?? 0);
    const together = dialect.uuid === 'uuid' ? await claimTogether(queries, picks, nowMs, leaseMs) : null;
    const heads = await readHeads(queries, dialect, picks);
    const rows = together ?? (await claimEach(queries, picks, heads, nowMs, leaseMs));
    const claimed = await load(queries, dialect, heads, rows, nowMs);
    const counts = Map.groupBy(claimed, ({ destination }) => destination);
    const isExhausted = ({ destination, most }: Pick) => (counts.get(destination)?.length ?? 0) < most;
    const exhausted = new Set(picks.filter(isExhausted).map(({ destination }) => destination));
    await postponeHeads(
      queries,
      dialect,
      heads.filter(({ destination }) => exhausted.has(destination)),
      nowMs,
    );
    const mayHaveMore = picks.filter((pick) => !isExhausted(pick)).map(({ destination }) => destination);
    return { claimed, mayHaveMore };
  });
}

type Head = {
  entity: SqlUuid;
  webhookNo: number;
  webhookId: string;
  endpointNo: number;
  destination: DestinationKey;
  postUrl: string;
  generation: number;
  nextDueMs: number;
  fromDueMs: number;
  idle: number;
  failingSinceMs: number | null;
};

type HeadRow = {
  entity_id: SqlUuid;
  webhook_no: SqlInteger;
  webhook_id: string;
  endpoint_no: SqlInteger;
  destination: DestinationKey;
  post_url: string;
  generation: SqlInteger;
  next_due_ms: SqlInteger;
  from_due_ms: SqlInteger;
  idle: SqlInteger;
  failing_since_ms: SqlInteger | null;
};

/** Not `blocked = 0`: PostgreSQL would take the index of what is due, which has every open head, for the right one. */
const IS_OPEN = 'blocked + 0 = 0';

async function readHeads(queries: Queries, { hexOf }: Dialect, picks: readonly Pick[]): Promise<Head[]> {
  const heads: Head[] = [];
  for (const chunk of chunks(picks)) {
    const rows = await queries.all<HeadRow>(
      `select entity_id, webhook_no, webhook_id, endpoint_no, destination, post_url, generation, next_due_ms,
         from_due_ms, idle, failing_since_ms
       from queue_heads where destination in ${valuesList(1, chunk.length)} and ${IS_OPEN}`,
      chunk.map(({ destination }) => destination),
    );
    for (const row of rows) {
      heads.push({
        entity: row.entity_id,
        webhookNo: Number(row.webhook_no),
        webhookId: row.webhook_id,
        endpointNo: Number(row.endpoint_no),
        destination: row.destination,
        postUrl: row.post_url,
        generation: Number(row.generation),
        nextDueMs: Number(row.next_due_ms),
        fromDueMs: Number(row.from_due_ms),
        idle: Number(row.idle),
        failingSinceMs: row.failing_since_ms === null ? null : Number(row.failing_since_ms),
      });
    }
  }
  // Rows are written in one order everywhere.
  const keyOf = ({ entity }: Head) => hexOf(entity);
  return heads.sort((one, other) =>
    keyOf(one) === keyOf(other) ? one.webhookNo - other.webhookNo : keyOf(one) < keyOf(other) ? -1 : 1,
  );
}

type ClaimedRow = {
  /** Of the pick that the row was claimed for. */
  destination: DestinationKey;
  entity_id: SqlUuid;
  id: SqlUuid;
  webhook_no: SqlInteger;
  event_no: SqlUuid | null;
  endpoint_no: SqlInteger;
  sequence: SqlInteger | null;
  order_key: SqlUuid | null;
  created_at_ms: SqlInteger;
  token: SqlInteger;
  generation: SqlInteger;
  attempts: SqlInteger;
  steps: SqlInteger;
  redeliver: SqlInteger;
  recorded: SqlInteger | null;
};

const CLAIMED_COLUMNS =
  'queue.entity_id, queue.id, queue.webhook_no, queue.event_no, queue.created_at_ms, queue.token, queue.generation, ' +
  'queue.attempts, queue.steps, queue.redeliver, queue.recorded, queue.endpoint_no, queue.sequence, ' +
  'queue.order_key';

/**
 * Rows of an older generation are due at once, those of the head's own generation when their time has come. Below the mark
 * `from_due_ms` no row waits; while it is not above zero, rows of older generations may.
 */
const DUE_ROWS = `select queue.ctid as place from queue
  where queue.entity_id = h.entity_id and queue.webhook_no = h.webhook_no and queue.lease_ms <= $1
    and (queue.generation, queue.due_ms) >= (case when h.from_due_ms > 0 then h.generation else 0 end, h.from_due_ms)
    and (queue.generation, queue.due_ms) <= (h.generation, $1)
  order by queue.generation, queue.due_ms limit p.most for update skip locked`;

async function claimTogether(
  queries: Queries,
  picks: readonly Pick[],
  nowMs: number,
  leaseMs: number,
): Promise<ClaimedRow[]> {
  const claimed: ClaimedRow[] = [];
  for (const chunk of chunks(picks)) {
    // Materialized, or PostgreSQL may run the inner select once for each row and pass the limit.
    const rows = await queries.all<ClaimedRow>(
      `with picks (destination, most) as (values ${valuesList(chunk.length, 2, 2, ['text', 'bigint'])}),
       due as materialized (
         select d.place, p.destination from picks p cross join lateral (
           select q.place from queue_heads h cross join lateral (${DUE_ROWS}) q
           where h.destination = p.destination and h.${IS_OPEN}
           limit p.most) d)
       update queue set lease_ms = $2, token = token + 1 from due where queue.ctid = due.place
       returning due.destination, ${CLAIMED_COLUMNS}`,
      [nowMs, nowMs + leaseMs, ...chunk.flatMap(({ destination, most }): SqlValue[] => [destination, most])],
    );
    claimed.push(...rows);
  }
  return claimed;
}

/** SQLite has no lateral join, and in the same process a statement costs a few microseconds. */
async function claimEach(
  queries: Queries,
  picks: readonly Pick[],
  heads: readonly Head[],
  nowMs: number,
  leaseMs: number,
): Promise<ClaimedRow[]> {
  const claimed: ClaimedRow[] = [];
  const byDestination = Map.groupBy(heads, ({ destination }) => destination);
  for (const { destination, most } of picks) {
    let wanted = most;
    for (const head of byDestination.get(destination) ?? []) {
      if (wanted <= 0) break;
      const rows = await queries.all<Omit<ClaimedRow, 'destination'>>(
        `update queue set lease_ms = $3, token = token + 1 where entity_id = $1 and id in (
           select id from queue where entity_id = $1 and webhook_no = $2 and lease_ms <= $6
             and (generation, due_ms) >= ($7, $8) and (generation, due_ms) <= ($5, $6)
           order by generation, due_ms limit $4)
         returning ${CLAIMED_COLUMNS.replaceAll('queue.', '')}`,
        [
          head.entity,
          head.webhookNo,
          nowMs + leaseMs,
          wanted,
          head.generation,
          nowMs,
          firstGeneration(head),
          head.fromDueMs,
        ],
      );
      for (const row of rows) claimed.push({ ...row, destination });
      wanted -= rows.length;
    }
  }
  return claimed;
}

/** The lowest generation of which rows may wait. */
function firstGeneration({ generation, fromDueMs }: Head): number {
  return fromDueMs > 0 ? generation : 0;
}

type EventRow = { entity_id: SqlUuid; no: SqlUuid; event_id: string | null; body: string };

/** Adds what an attempt needs beside the row: the event's body and the entity's revision. */
async function load(
  queries: Queries,
  dialect: Dialect,
  heads: readonly Head[],
  rows: readonly ClaimedRow[],
  nowMs: number,
): Promise<Claimed[]> {
  if (rows.length === 0) return [];
  const { hexOf } = dialect;
  const headOf = new Map(heads.map((head) => [`${hexOf(head.entity)} ${head.webhookNo}`, head]));
  const found: { row: ClaimedRow; head: Head; eventNo: string }[] = [];
  for (const row of rows) {
    const head = headOf.get(`${hexOf(row.entity_id)} ${row.webhook_no}`);
    const eventNo = hexOf(row.event_no ?? eventNoOf(dialect, row.id));
    if (head?.destination === row.destination) found.push({ row, head, eventNo });
    // The webhook was suspended, moved or deleted between the claim and the look at its head. Where it moved to another
    // destination of the same claim, nothing is reserved for it there.
    else await queries.run('update queue set lease_ms = 0 where entity_id = $1 and id = $2', [row.entity_id, row.id]);
  }
  const events = await readEvents(queries, dialect, found);
  const revisions = await readRevisions(queries, heads);
  return found.map(({ row, head, eventNo }) => {
    const event = events.get(`${hexOf(row.entity_id)} ${eventNo}`);
    const entityId = entityOfDestination(head.destination);
    const attempts = Number(row.attempts);
    const isReleased = Number(row.generation) < head.generation;
    return {
      entityId,
      deliveryId: `dlv_${hexOf(row.id)}`,
      token: Number(row.token),
      destination: head.destination,
      eventId: event?.event_id ?? `evt_${eventNo}`,
      webhookNo: head.webhookNo,
      webhookId: head.webhookId,
      endpointNo: head.endpointNo,
      sequence: row.sequence === null ? null : Number(row.sequence),
      sequenceEndpointNo: Number(row.endpoint_no),
      orderKey: row.order_key === null ? null : hexOf(row.order_key),
      postUrl: head.postUrl,
      kind: kindOf(row),
      status: statusBefore(row),
      attempts,
      // After a resume the schedule starts again: the time that it was held says nothing about the receiver now.
      steps: isReleased ? 0 : Number(row.steps),
      generation: head.generation,
      failingSinceMs: head.failingSinceMs,
      body: event?.body ?? null,
      revision: revisions.get(entityId) ?? 0,
      createdAtMs: Number(row.created_at_ms),
      acceptedAtMs: Date.now() - (nowMs - Number(row.created_at_ms)),
    };
  });
}

function eventNoOf({ bindUuid, hexOf }: Dialect, id: SqlUuid): SqlUuid {
  return bindUuid(eventNumber(hexOf(id)));
}

async function readEvents(
  queries: Queries,
  dialect: Dialect,
  found: readonly { row: ClaimedRow; eventNo: string }[],
): Promise<Map<string, EventRow>> {
  const { hexOf, bindUuid } = dialect;
  const events = new Map<string, EventRow>();
  const keys = new Map(found.map(({ row, eventNo }) => [`${hexOf(row.entity_id)} ${eventNo}`, { row, eventNo }]));
  for (const chunk of chunks([...keys.values()])) {
    const rows = await queries.all<EventRow>(
      `with wanted (entity_id, no) as (values ${valuesList(chunk.length, 2, 0, [dialect.uuid, dialect.uuid])})
       select e.entity_id, e.no, e.event_id, e.body from wanted w
       ${dialect.lookUp('cross join', 'events', 'e', { entity_id: 'w.entity_id', no: 'w.no' })}`,
      chunk.flatMap(({ row, eventNo }): SqlValue[] => [row.entity_id, bindUuid(eventNo)]),
    );
    for (const row of rows) events.set(`${hexOf(row.entity_id)} ${hexOf(row.no)}`, row);
  }
  return events;
}

async function readRevisions(queries: Queries, heads: readonly Head[]): Promise<Map<string, number>> {
  const revisions = new Map<string, number>();
  const entityIds = [...new Set(heads.map(({ destination }) => entityOfDestination(destination)))];
  for (const chunk of chunks(entityIds)) {
    const rows = await queries.all<{ id: string; revision: SqlInteger }>(
      `select id, ${REVISION} as revision from entities where id in ${valuesList(1, chunk.length)}`,
      chunk,
    );
    for (const row of rows) revisions.set(row.id, Number(row.revision));
  }
  return revisions;
}

function kindOf(row: ClaimedRow): AttemptKind {
  if (Number(row.redeliver) > 0) return 'redelivery';
  return Number(row.attempts) > 0 ? 'retry' : 'first';
}

function statusBefore(row: ClaimedRow): DeliveryStatus {
  if (row.recorded !== null) return statusOfCode(Number(row.recorded));
  return Number(row.attempts) > 0 ? 'retrying' : 'pending';
}

/** How long a head that has nothing waiting is left alone: longer each time, so that idle webhooks cost nothing. */
const IDLE_MS = [5_000, 30_000, 300_000, 3_600_000] as const;
const LONGEST_IDLE_MS = 3_600_000;
/** An acceptance that is under way may commit rows due this long ago. */
const UNCOMMITTED_MS = 10_000;
/** Rows looked at to find out when the next one can be claimed. */
const ROWS_PER_LOOK = 64;

type LookRow = { entity_id: SqlUuid; webhook_no: SqlInteger; seen: string | null };

/**
 * Heads from which all that is due was claimed are looked at again when their next row can be claimed. The hint only has
 * to be early enough: where many rows have a lease, it is the due time of the last one looked at.
 */
async function postponeHeads(queries: Queries, dialect: Dialect, heads: readonly Head[], nowMs: number): Promise<void> {
  const due = heads.filter(({ nextDueMs }) => nextDueMs <= nowMs);
  const { from, where } = dialect.rowsOf('queue_heads', 'looks', ['entity_id', 'webhook_no']);
  for (const chunk of chunks(due)) {
    // One text for all that is asked, so that the rows are read once.
    const rows = await queries.all<LookRow>(
      `with wanted (entity_id, webhook_no, generation, from_due_ms) as
         (values ${valuesList(chunk.length, 4, 0, [dialect.uuid, 'bigint', 'bigint', 'bigint'])})
       select w.entity_id, w.webhook_no, (
         select count(*) || ' ' || min(case when l.lease_ms > l.due_ms then l.lease_ms else l.due_ms end)
           || ' ' || min(l.due_ms) || ' ' || max(l.due_ms) || ' ' || min(l.generation)
         from (select q.generation, q.due_ms, q.lease_ms from queue q
           where q.entity_id = w.entity_id and q.webhook_no = w.webhook_no
             and (q.generation, q.due_ms) >= (w.generation, w.from_due_ms) and q.generation < ${PARKED}
           order by q.generation, q.due_ms, q.id limit ${ROWS_PER_LOOK}) l) as seen
       from wanted w`,
      chunk.flatMap((head): SqlValue[] => [head.entity, head.webhookNo, firstGeneration(head), head.fromDueMs]),
    );
    const seen = new Map(rows.map((row) => [`${dialect.hexOf(row.entity_id)} ${row.webhook_no}`, row.seen]));
    const values = chunk.flatMap((head): SqlValue[] => {
      const found = seen.get(`${dialect.hexOf(head.entity)} ${head.webhookNo}`) ?? null;
      const { nextDueMs, idle, fromDueMs } = nextLook(head, found === null ? null : readLook(found), nowMs);
      return [head.entity, head.webhookNo, head.nextDueMs, nextDueMs, idle, fromDueMs];
    });
    await queries.run(
      `with looks (entity_id, webhook_no, seen_ms, next_due_ms, idle, from_due_ms) as
         (values ${valuesList(chunk.length, 6, 0, [dialect.uuid, 'bigint', 'bigint', 'bigint', 'bigint', 'bigint'])})
       update queue_heads set next_due_ms = looks.next_due_ms, idle = looks.idle, from_due_ms = looks.from_due_ms
       from ${from} where ${where} and queue_heads.next_due_ms = looks.seen_ms`,
      values,
    );
  }
}

/** What the first rows of a head are, as far as they were looked at. */
export type LookResult = {
  readonly rows: number;
  /** When the first of them can be claimed. */
  readonly firstMs: number;
  readonly firstDueMs: number;
  readonly lastDueMs: number;
  readonly firstGeneration: number;
};

function readLook(text: string): LookResult {
  const [rows = 0, firstMs = 0, firstDueMs = 0, lastDueMs = 0, generation = 0] = text.split(' ').map(Number);
  return { rows, firstMs, firstDueMs, lastDueMs, firstGeneration: generation };
}

export function nextLook(
  head: { readonly generation: number; readonly idle: number; readonly fromDueMs: number },
  found: LookResult | null,
  nowMs: number,
): { nextDueMs: number; idle: number; fromDueMs: number } {
  const settledMs = nowMs - UNCOMMITTED_MS;
  // A resume leaves its time, negated: an acceptance under way then may still commit a row of the generation before.
  const isSettled = head.fromDueMs >= 0 || -head.fromDueMs < settledMs;
  if (found === null) {
    const idleMs = IDLE_MS[head.idle] ?? LONGEST_IDLE_MS;
    const idle = Math.min(head.idle + 1, IDLE_MS.length);
    return { nextDueMs: nowMs + idleMs, idle, fromDueMs: isSettled ? settledMs : head.fromDueMs };
  }
  const bound = found.rows < ROWS_PER_LOOK ? Number.POSITIVE_INFINITY : found.lastDueMs;
  const nextMs = Math.min(found.firstMs, Math.max(bound, nowMs + 1), nowMs + LONGEST_IDLE_MS);
  const mark = Math.max(0, Math.min(found.firstDueMs, settledMs));
  const hasMark = isSettled && found.firstGeneration === head.generation;
  return { nextDueMs: Math.max(nextMs, nowMs + 1), idle: 0, fromDueMs: hasMark ? mark : Math.min(0, head.fromDueMs) };
}

export type DueHead = { destination: DestinationKey; cursor: HeadCursor };
export type HeadCursor = { nextDueMs: number; entity: string; webhookNo: number };

export const FIRST_HEAD: HeadCursor = {
  nextDueMs: Number.MIN_SAFE_INTEGER,
  entity: '0'.repeat(32),
  webhookNo: Number.MIN_SAFE_INTEGER,
};

export type Look = {
  due: DueHead[];
  /** Until the first head that is not due yet; null when there is none. */
  nextInMs: number | null;
};

/** Heads whose time has come, a window at a time. Only these are read, however many webhooks have something waiting. */
export async function findDueHeads(db: Database, after: HeadCursor, most: number): Promise<Look> {
  const { nowMs, bindUuid, hexOf } = db.dialect;
  const rows = await db.all<{
    destination: DestinationKey;
    next_due_ms: SqlInteger;
    entity_id: SqlUuid;
    webhook_no: SqlInteger;
    now_ms: SqlInteger;
  }>(
    `select destination, next_due_ms, entity_id, webhook_no, ${nowMs} as now_ms from queue_heads
     where blocked = 0 and (next_due_ms, entity_id, webhook_no) > ($1, $2, $3)
     order by next_due_ms, entity_id, webhook_no limit $4`,
    [after.nextDueMs, bindUuid(after.entity), after.webhookNo, most],
  );
  const due: DueHead[] = [];
  for (const row of rows) {
    const inMs = Number(row.next_due_ms) - Number(row.now_ms);
    if (inMs > 0) return { due, nextInMs: inMs };
    const cursor = {
      nextDueMs: Number(row.next_due_ms),
      entity: hexOf(row.entity_id),
      webhookNo: Number(row.webhook_no),
    };
    due.push({ destination: row.destination, cursor });
  }
  return { due, nextInMs: null };
}

/** Returns what was claimed and not sent, if it is still ours: it is due at once. */
export async function returnClaims(queries: Queries, dialect: Dialect, claimed: readonly Claimed[]): Promise<void> {
  for (const { entityId, deliveryId, token } of claimed) {
    await queries.run('update queue set lease_ms = 0 where entity_id = $1 and id = $2 and token = $3', [
      entityKey(dialect, entityId),
      dialect.bindUuid(deliveryId.slice('dlv_'.length)),
      token,
    ]);
  }
  await wakeHeads(
    queries,
    dialect,
    claimed.map(({ entityId, webhookNo }) => ({ entityId, webhookNo, atMs: 0, isWaiting: true })),
  );
}

/** Where one process is all there is, every lease found at its start is that of a dead one. */
export function releaseAllLeases(db: Database): Promise<number> {
  return db.transaction(async (queries) => {
    const released = await queries.run('update queue set lease_ms = 0 where lease_ms > 0');
    await queries.run('update queue_heads set next_due_ms = 0 where blocked = 0 and next_due_ms > 0');
    return released;
  });
}
