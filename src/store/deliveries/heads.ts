import { destinationKey, hostOf } from '../../domain/post-url.ts';
import {
  type Database,
  type Dialect,
  type Queries,
  type SqlValue,
  StoreUnavailableError,
} from '../database/database.ts';
import {
  byEntity,
  Columns,
  chunks,
  entityKey,
  integer,
  nullable,
  planForClaims,
  text,
  textByRows,
  uuid,
  valuesList,
} from '../database/sql.ts';
import { restartTasks, subjectOfNumber } from '../tasks/tasks.ts';
import { findRetractionHeads } from './retraction-heads.ts';

/**
 * The head of a webhook's queue: one row that says where its deliveries go and whether they may. Suspend, resume, pause
 * and delete change this row and nothing else, however long the queue is. A move also rewrites ordered deliveries
 * (`order/rekey.ts`). The later of two changes wins. A head is made by the first event or the first change that needs it.
 * All of these run in the transaction that changes the webhook itself, under the entity's lock.
 */

/** Why the deliveries of a head wait; they add up. */
export const BLOCKED = { suspended: 1, paused: 2, deleted: 4 } as const;

/** A head's copy of its webhook's data. */
export type HeadTarget = {
  entityId: string;
  /** The webhook's creation sequence; below zero for the alerts of a network (`alertHeadNo`). */
  webhookNo: number;
  webhookId: string;
  networkId: number;
  event: string;
  postUrl: string;
  /** Set if the head is made for a webhook that is already suspended. */
  isSuspended?: boolean;
};

export type HeadKey = Pick<HeadTarget, 'entityId' | 'webhookNo'>;

/** The order in which every statement locks heads, so that two transactions never wait for each other. */
function byKey(a: HeadKey, b: HeadKey): number {
  return a.entityId === b.entityId ? a.webhookNo - b.webhookNo : a.entityId < b.entityId ? -1 : 1;
}

/** The first number of each kind of alert. Followed networks have ids below this distance. */
const ALERTS_FROM: Readonly<Record<string, number>> = {
  'webhook.suspended': -1,
  'chain.halted': -(2 ** 52),
  'chain.stalled': -(2 ** 52) - 2 ** 50,
  'chain.recovered': -(2 ** 52) - 2 ** 50 - 2 ** 49,
  'source.paused': -(2 ** 52) - 2 ** 51,
  // Alerts about endpoints have no network, so that each kind has one number.
  'endpoint.failing': -(2 ** 52) - 2 ** 51 - 2 ** 50,
  'endpoint.recovered': -(2 ** 52) - 2 ** 51 - 2 ** 50 - 1,
};

/** Alerts of one kind and network have one queue, as a webhook has. No webhook has a number below 1. */
export function alertHeadNo(networkId: number, kind = 'webhook.suspended'): number {
  const from = ALERTS_FROM[kind];
  if (from === undefined) throw new RangeError(`no alert is called ${kind}`);
  return from - networkId;
}

type NewHead = HeadTarget & { blocked: number };

const headsText = (change: string) =>
  textByRows(
    (rows) => `insert into queue_heads (entity_id, webhook_no, webhook_id, network_id, event, endpoint_no, destination,
        post_url, next_due_ms, blocked, ordering)
      values ${valuesList(rows, 11)} on conflict (entity_id, webhook_no) do ${change}`,
  );

/** Makes the next look start at the first row, for changes after which rows may be due before the mark of the head. */
const LOOK_FROM_START = 'full_look_ms = 0, write_count = queue_heads.write_count + 1, idle = 0';

/**
 * Settings that a head copies from its endpoint: paused or not, ordering, and the destination, which contains the rate
 * limit.
 */
const COPY_SETTINGS = `blocked = (queue_heads.blocked & ~${BLOCKED.paused}) | (excluded.blocked & ${BLOCKED.paused}),
  ordering = excluded.ordering, destination = excluded.destination, next_due_ms = excluded.next_due_ms, ${LOOK_FROM_START}`;

const TEXTS = {
  make: headsText('nothing'),
  suspend: headsText(`update set blocked = queue_heads.blocked | ${BLOCKED.suspended}`),
  // Waiting deliveries become due at once: the receiver may have been repaired, so the old schedule no longer applies.
  resume: headsText(`update set blocked = queue_heads.blocked & ~${BLOCKED.suspended},
    generation = queue_heads.generation + 1, next_due_ms = excluded.next_due_ms, ${LOOK_FROM_START},
    failing_since_ms = null`),
  // The failures belong to the previous URL.
  move: headsText(`update set endpoint_no = excluded.endpoint_no, post_url = excluded.post_url, failing_since_ms = null,
    ${COPY_SETTINGS}`),
  configure: headsText(`update set ${COPY_SETTINGS}`),
  remove: headsText(`update set blocked = queue_heads.blocked | ${BLOCKED.deleted}`),
  // A deleted head that is wanted again: the alerts of an entity whose alert URL is set once more.
  restore: headsText(`update set blocked = queue_heads.blocked & ~${BLOCKED.deleted},
    endpoint_no = excluded.endpoint_no, destination = excluded.destination, post_url = excluded.post_url,
    next_due_ms = excluded.next_due_ms, ${LOOK_FROM_START}`),
} as const;

export type HeadChange = keyof typeof TEXTS;

/** Makes the missing heads of webhooks. Returns their endpoints by `urlKey`. */
export function makeHeads(
  queries: Queries,
  dialect: Dialect,
  targets: readonly HeadTarget[],
  nowMs: number,
): Promise<Map<string, EndpointOfHead>> {
  const heads = targets.map((target) => ({ ...target, blocked: target.isSuspended ? BLOCKED.suspended : 0 }));
  return insertHeads(queries, dialect, TEXTS.make, heads, nowMs);
}

/** Makes the heads that are missing and changes those that are there, in one order everywhere. */
export async function changeHeads(
  queries: Queries,
  dialect: Dialect,
  change: Exclude<HeadChange, 'make'>,
  targets: readonly HeadTarget[],
  nowMs: number,
): Promise<void> {
  const blocked = change === 'suspend' ? BLOCKED.suspended : change === 'remove' ? BLOCKED.deleted : 0;
  const own = targets.filter((target) => !isAlertHead(target));
  const retractions = await findRetractionHeads(queries, dialect, own);
  const heads = [...targets, ...retractions].map((target) => ({ ...target, blocked }));
  if (change === 'remove') await startCancels(queries, dialect, heads);
  await insertHeads(queries, dialect, TEXTS[change], heads, nowMs);
}

async function insertHeads(
  queries: Queries,
  dialect: Dialect,
  text: (rows: number) => string,
  heads: readonly NewHead[],
  nowMs: number,
): Promise<Map<string, EndpointOfHead>> {
  const ordered = heads.toSorted(byKey);
  const endpoints = await ensureEndpoints(queries, dialect, ordered, nowMs);
  for (const chunk of chunks(ordered)) {
    const values = chunk.flatMap((head): SqlValue[] => {
      const endpoint = endpoints.get(urlKey(head)) ?? NO_ENDPOINT;
      const { isPaused, ordering, rateLimit } = isAlertHead(head) ? NO_ENDPOINT : endpoint;
      const pace = rateLimit === null ? null : { endpointNo: endpoint.no, perSecond: rateLimit };
      return [
        entityKey(dialect, head.entityId),
        head.webhookNo,
        head.webhookId,
        head.networkId,
        head.event,
        endpoint.no,
        destinationKey(head.entityId, head.postUrl, pace),
        head.postUrl,
        nowMs,
        head.blocked | (isPaused ? BLOCKED.paused : 0),
        ordering,
      ];
    });
    await queries.run(text(chunk.length), values);
  }
  return endpoints;
}

/**
 * Starts the tasks that cancel deliveries. Called before the heads are changed, because a step locks its task before
 * them. Even a new head gets a task: an acceptance may add deliveries to it.
 */
async function startCancels(queries: Queries, dialect: Dialect, heads: readonly HeadKey[]): Promise<void> {
  const tasks = heads.map(({ entityId, webhookNo }) => {
    return { kind: 'cancel' as const, entityId, subject: subjectOfNumber(dialect, webhookNo), phase: 'emptying' };
  });
  await restartTasks(queries, dialect, tasks);
}

/** Alerts go out whatever the settings of an endpoint with the same URL say. */
function isAlertHead({ webhookNo }: HeadKey): boolean {
  return webhookNo < 0;
}

/**
 * When a head must be looked at again. The next look must find a waiting delivery, even a look that is under way in
 * another transaction and cannot see it yet. That look raises the hint only if nothing has written it since, so a
 * waiting delivery always writes it. If this process dispatches the delivery, its lease leads to it, and the hint
 * usually stays unwritten.
 */
export type Wake = { entityId: string; webhookNo: number; atMs: number; isWaiting: boolean };

/**
 * Updates heads by key and not by `rowsOf`, which skips a row that another transaction is changing. A lost wake-up
 * would leave its deliveries to the auditor. The primary key is the only index with these columns, so the plan is
 * certain.
 */
const wakeText = (dialect: Dialect) =>
  textByRows(
    (rows) => `with wakes (entity_id, webhook_no, at_ms, is_waiting) as
        (values ${valuesList(rows, 4, 0, [dialect.uuid, 'bigint', 'bigint', 'bigint'])})
      update queue_heads set idle = 0, write_count = write_count + 1,
        next_due_ms = case when next_due_ms > wakes.at_ms then wakes.at_ms else next_due_ms end
      from wakes where queue_heads.entity_id = wakes.entity_id and queue_heads.webhook_no = wakes.webhook_no
        and (queue_heads.next_due_ms > wakes.at_ms or wakes.is_waiting = 1)${dialect.ofEntity('queue_heads')}`,
  );
const wakeTexts = new WeakMap<Dialect, (rows: number) => string>();

export async function wakeHeads(queries: Queries, dialect: Dialect, wakes: readonly Wake[]): Promise<void> {
  const text = wakeTexts.get(dialect) ?? wakeText(dialect);
  wakeTexts.set(dialect, text);
  const merged = new Map<string, Wake>();
  // Most wakes of a transaction are of few heads, and many in a row.
  let last: Wake | undefined;
  for (const wake of wakes) {
    if (last === undefined || last.webhookNo !== wake.webhookNo || last.entityId !== wake.entityId) {
      const key = nameOfHead(wake);
      last = merged.get(key) ?? { ...wake };
      merged.set(key, last);
    }
    last.atMs = Math.min(last.atMs, wake.atMs);
    last.isWaiting ||= wake.isWaiting;
  }
  const sorted = [...merged.values()].sort(byKey);
  for (const chunk of byEntity(dialect, sorted).flatMap((some) => [...chunks(some)])) {
    const values = chunk.flatMap(({ entityId, webhookNo, atMs, isWaiting }): SqlValue[] => [
      entityKey(dialect, entityId),
      webhookNo,
      atMs,
      isWaiting ? 1 : 0,
    ]);
    await queries.send(text(chunk.length), values);
  }
}

/** A head was changed after a transaction had read it: the transaction has to be repeated. */
export class HeadChangedError extends Error {
  override readonly name = 'HeadChangedError';

  constructor() {
    super('a webhook moved, or the ordering of its endpoint changed, during the transaction');
  }
}

const MOST_ATTEMPTS = 5;

/** Repeats a transaction that met a change of a head. If every attempt meets another change, the caller has to retry. */
export async function repeatIfHeadChanged<Value>(work: () => Promise<Value>): Promise<Value> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof HeadChangedError)) throw error;
      if (attempts === MOST_ATTEMPTS) throw new StoreUnavailableError(error.message, { cause: error });
    }
  }
}

const scopeColumns = new Columns({
  entity: uuid('h.entity_id'),
  webhookNo: integer('h.webhook_no'),
  endpointNo: integer('h.endpoint_no'),
  ordering: integer('h.ordering'),
});

/** Locks the heads in the order in which every statement locks them. Returns what decides the order keys of deliveries. */
export async function lockHeads(
  queries: Queries,
  dialect: Dialect,
  heads: readonly HeadKey[],
): Promise<Map<string, { readonly endpointNo: number; readonly isOrdered: boolean }>> {
  const found = new Map<string, { endpointNo: number; isOrdered: boolean }>();
  // SQLite has one writer, so that nothing has changed since the heads were read.
  if (dialect.lockRow === '') return found;
  const sorted = [...new Map(heads.map((head) => [nameOfHead(head), head])).values()].sort(byKey);
  for (const chunk of byEntity(dialect, sorted).flatMap((some) => [...chunks(some)])) {
    const key = { entity_id: 'w.entity_id', webhook_no: 'w.webhook_no' };
    const rows = await scopeColumns.all(
      queries,
      `with wanted (entity_id, webhook_no) as (values ${valuesList(chunk.length, 2, 0, [dialect.uuid, 'bigint'])})
       select ${scopeColumns.list} from wanted w ${dialect.lookUp('cross join', 'queue_heads', 'h', key)}
       ${dialect.isDistributed ? 'order by h.webhook_no' : ''} ${dialect.lockRow} of h`,
      chunk.flatMap(({ entityId, webhookNo }): SqlValue[] => [entityKey(dialect, entityId), webhookNo]),
    );
    const entityOf = new Map(chunk.map(({ entityId }) => [dialect.hexOf(entityKey(dialect, entityId)), entityId]));
    for (const { entity, webhookNo, endpointNo, ordering } of rows) {
      const entityId = entityOf.get(dialect.hexOf(entity)) ?? '';
      found.set(nameOfHead({ entityId, webhookNo }), { endpointNo, isOrdered: ordering !== 0 });
    }
  }
  return found;
}

export function nameOfHead({ entityId, webhookNo }: HeadKey): string {
  return `${entityId} ${webhookNo}`;
}

type ScopedHead = HeadKey & { readonly endpointNo: number; readonly isOrdered: boolean };

/** Locks heads up to the commit, and fails if one of `scoped` has another endpoint or ordering than a key was made for. */
export async function requireUnchangedHeads(
  queries: Queries,
  dialect: Dialect,
  scoped: readonly ScopedHead[],
  others: readonly HeadKey[],
): Promise<void> {
  if (scoped.length === 0) return;
  const locked = await lockHeads(queries, dialect, [...scoped, ...others]);
  const hasChanged = scoped.some((head) => {
    const now = locked.get(nameOfHead(head));
    return now !== undefined && (now.endpointNo !== head.endpointNo || now.isOrdered !== head.isOrdered);
  });
  if (hasChanged) throw new HeadChangedError();
}

/** Large enough that two of an entity's endpoints never draw the same number. */
const MAX_ENDPOINT_NO = Number.MAX_SAFE_INTEGER;

type Url = Pick<HeadTarget, 'entityId' | 'postUrl'>;

export function urlKey({ entityId, postUrl }: Url): string {
  return `${entityId} ${postUrl}`;
}

/** Settings that a head copies from the endpoint of its webhook. `ordering` is 0 for none and 1 for agreement. */
export type EndpointOfHead = {
  readonly no: number;
  readonly isPaused: boolean;
  readonly ordering: number;
  readonly rateLimit: number | null;
};

const NO_ENDPOINT: EndpointOfHead = { no: 0, isPaused: false, ordering: 0, rateLimit: null };

const endpointColumns = new Columns({
  entity: text('e.entity_id'),
  no: integer('e.no'),
  postUrl: text('e.post_url'),
  pausedAtMs: nullable(integer('e.paused_at_ms')),
  ordering: integer('e.ordering'),
  rateLimit: nullable(integer('e.rate_limit')),
});

/** The endpoints of these URLs, made where they are new. */
export async function ensureEndpoints(
  queries: Queries,
  dialect: Dialect,
  urls: readonly Url[],
  nowMs: number,
): Promise<Map<string, EndpointOfHead>> {
  const found = new Map<string, EndpointOfHead>();
  const distinct = [...new Map(urls.map((url) => [urlKey(url), url])).values()];
  distinct.sort((a, b) => (urlKey(a) < urlKey(b) ? -1 : 1));
  for (const chunk of chunks(distinct)) {
    await findEndpoints(queries, dialect, chunk, found);
    const missing = chunk.filter((url) => !found.has(urlKey(url)));
    if (missing.length === 0) continue;
    await queries.run(
      `insert into endpoints (entity_id, no, post_url, host, created_at_ms) values ${valuesList(missing.length, 5)}
       on conflict (entity_id, post_url, removed_ms) do nothing`,
      missing.flatMap(({ entityId, postUrl }): SqlValue[] => [
        entityKey(dialect, entityId),
        Math.floor(Math.random() * MAX_ENDPOINT_NO),
        postUrl,
        hostOf(postUrl),
        nowMs,
      ]),
    );
    await findEndpoints(queries, dialect, missing, found);
  }
  return found;
}

/** Adds the existing endpoints to `found`, by `urlKey`. */
async function findEndpoints(
  queries: Queries,
  dialect: Dialect,
  urls: readonly Url[],
  found: Map<string, EndpointOfHead>,
): Promise<void> {
  const key = { entity_id: 'u.entity_id', post_url: 'u.post_url', removed_ms: '0' };
  const rows = await endpointColumns.all(
    queries,
    `with urls (entity_id, post_url) as (values ${valuesList(urls.length, 2, 0, [dialect.uuid, 'text'])})
     select ${endpointColumns.list} from urls u ${dialect.lookUp('cross join', 'endpoints', 'e', key)}`,
    urls.flatMap(({ entityId, postUrl }): SqlValue[] => [entityKey(dialect, entityId), postUrl]),
  );
  const byKey = new Map(rows.map((row) => [`${dialect.hexOf(row.entity)} ${row.postUrl}`, row]));
  for (const url of urls) {
    const row = byKey.get(`${dialect.hexOf(entityKey(dialect, url.entityId))} ${url.postUrl}`);
    if (row === undefined) continue;
    const { no, pausedAtMs, ordering, rateLimit } = row;
    found.set(urlKey(url), { no, isPaused: pausedAtMs !== null, ordering, rateLimit });
  }
}

export type HeadMark = HeadKey & { readonly isFailing: boolean };

const markText = (dialect: Dialect) =>
  textByRows(
    (rows) => `with marks (entity_id, webhook_no, since_ms) as
        (values ${valuesList(rows, 3, 0, [dialect.uuid, 'bigint', 'bigint'])})
      update queue_heads set failing_since_ms = marks.since_ms
      from marks where queue_heads.entity_id = marks.entity_id and queue_heads.webhook_no = marks.webhook_no
        and (queue_heads.failing_since_ms is null) <> (marks.since_ms is null)${dialect.ofEntity('queue_heads')}`,
  );
const markTexts = new WeakMap<Dialect, (rows: number) => string>();

/**
 * Marks since when a webhook has had only failures. Each head is written at most once, and only if the mark changes.
 */
export async function markHeads(db: Database, marks: readonly HeadMark[]): Promise<void> {
  const { dialect } = db;
  const text = markTexts.get(dialect) ?? markText(dialect);
  markTexts.set(dialect, text);
  for (const some of byEntity(dialect, marks)) {
    await db.transaction(async (queries) => {
      const nowMs = await planForClaims(queries, dialect);
      for (const chunk of chunks(some.toSorted(byKey))) {
        const values = chunk.flatMap(({ entityId, webhookNo, isFailing }): SqlValue[] => [
          entityKey(dialect, entityId),
          webhookNo,
          isFailing ? nowMs : null,
        ]);
        await queries.run(text(chunk.length), values);
      }
    });
  }
}
