import { destinationKey } from '../../domain/post-url.ts';
import type { Database, Dialect, Queries, SqlValue } from '../database/database.ts';
import { byEntity, chunks, entityKey, planForClaims, textByRows, valuesList } from '../database/sql.ts';
import { restartTasks, subjectOfNumber } from '../tasks/tasks.ts';
import { type EndpointOfHead, ensureEndpoints, NO_ENDPOINT, urlKey } from './head-endpoints.ts';
import { findRetractionHeads } from './retraction-heads.ts';

/**
 * The head of a webhook's queue: one row that says where the webhook's deliveries go and whether they may be sent. Suspend,
 * resume, pause and delete change this row and nothing else, however long the queue is. A move also rewrites ordered deliveries
 * (`order/rekey.ts`). The later of two changes wins. A head is made by the first event or the first change that needs it. All
 * these changes run in the transaction that changes the webhook itself, under the entity's lock.
 */

/** Why the deliveries of a head wait. Several reasons are added up. */
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
export function byHeadKey(a: HeadKey, b: HeadKey): number {
  return a.entityId === b.entityId ? a.webhookNo - b.webhookNo : a.entityId < b.entityId ? -1 : 1;
}

/**
 * The head number of each kind of alert, from which the id of the network is subtracted. The ids of followed networks are smaller
 * than the distance between two kinds.
 */
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

/** The number of the queue for alerts of one kind and network. It is below zero, and the numbers of webhooks begin with 1. */
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

/** Makes the next claim read the head from its first row, for changes after which rows before `look_from_ms` may be due. */
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
  // Clears `failing_since_ms`, because the failures belong to the previous URL.
  move: headsText(`update set endpoint_no = excluded.endpoint_no, post_url = excluded.post_url, failing_since_ms = null,
    ${COPY_SETTINGS}`),
  configure: headsText(`update set ${COPY_SETTINGS}`),
  remove: headsText(`update set blocked = queue_heads.blocked | ${BLOCKED.deleted}`),
  // Restores a deleted head: the head of alerts, if the entity sets its alert URL again.
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

/** Makes the missing heads and changes the existing ones, together with the heads of their retractions. All callers use one order. */
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
  const ordered = heads.toSorted(byHeadKey);
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
 * Starts the tasks that cancel deliveries. Called before the heads are changed, because a step of such a task locks the task
 * before the head. Even a new head gets a task: an acceptance may add deliveries to it.
 */
async function startCancels(queries: Queries, dialect: Dialect, heads: readonly HeadKey[]): Promise<void> {
  const tasks = heads.map(({ entityId, webhookNo }) => {
    return { kind: 'cancel' as const, entityId, subject: subjectOfNumber(dialect, webhookNo), phase: 'emptying' };
  });
  await restartTasks(queries, dialect, tasks);
}

/** Alerts ignore the settings of an endpoint with the same URL. */
function isAlertHead({ webhookNo }: HeadKey): boolean {
  return webhookNo < 0;
}

/**
 * When a claim must read a head again. A claim in another transaction may be about to postpone the head, and cannot see a new
 * delivery yet. It postpones the head only if nothing has written the head since, so a waiting delivery always writes it. A
 * delivery that this process dispatches needs a claim only after its lease, and usually leaves the head unwritten.
 */
export type Wake = { entityId: string; webhookNo: number; atMs: number; isWaiting: boolean };

/**
 * Updates heads by key and not by `rowsOf`, which skips a row that another transaction is changing. After a lost wake-up, only
 * the auditor would find the deliveries. The primary key is the only index with these columns, so the plan is certain.
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
  // Wakes of one head often follow each other, so the last head is remembered.
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
  const sorted = [...merged.values()].sort(byHeadKey);
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

export function nameOfHead({ entityId, webhookNo }: HeadKey): string {
  return `${entityId} ${webhookNo}`;
}

/** `endpointNo` is the endpoint that the attempt went to. */
export type HeadMark = HeadKey & { readonly endpointNo: number; readonly isFailing: boolean };

const markText = (dialect: Dialect) =>
  textByRows(
    (rows) => `with marks (entity_id, webhook_no, endpoint_no, since_ms) as
        (values ${valuesList(rows, 4, 0, [dialect.uuid, 'bigint', 'bigint', 'bigint'])})
      update queue_heads set failing_since_ms = marks.since_ms
      from marks where queue_heads.entity_id = marks.entity_id and queue_heads.webhook_no = marks.webhook_no
        and queue_heads.endpoint_no = marks.endpoint_no
        and (queue_heads.failing_since_ms is null) <> (marks.since_ms is null)${dialect.ofEntity('queue_heads')}`,
  );
const markTexts = new WeakMap<Dialect, (rows: number) => string>();

/**
 * Stores since when a webhook has had only failures, or null after a success. Each head is written at most once, and only if this
 * changes. An attempt at a URL from which the webhook has moved changes nothing.
 */
export async function markHeads(db: Database, marks: readonly HeadMark[]): Promise<void> {
  const { dialect } = db;
  const text = markTexts.get(dialect) ?? markText(dialect);
  markTexts.set(dialect, text);
  for (const some of byEntity(dialect, marks)) {
    await db.transaction(async (queries) => {
      const nowMs = await planForClaims(queries, dialect);
      for (const chunk of chunks(some.toSorted(byHeadKey))) {
        const values = chunk.flatMap(({ entityId, webhookNo, endpointNo, isFailing }): SqlValue[] => [
          entityKey(dialect, entityId),
          webhookNo,
          endpointNo,
          isFailing ? nowMs : null,
        ]);
        await queries.run(text(chunk.length), values);
      }
    });
  }
}
