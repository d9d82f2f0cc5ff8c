import type { Delivery } from '../../src/contract/deliveries.ts';
import type { Database, SqlValue } from '../../src/store/database/database.ts';
import type { StoredAttempt } from '../../src/store/deliveries/read.ts';
import type { DeliveryRow } from './delivery-rows.ts';
import {
  insertOldRows,
  type OldDelivery,
  type OldWebhook,
  oldDeliveryRow,
  oldEntity,
  oldWebhookRow,
  type ShownDelivery,
} from './old-store.ts';
import { hexAt } from './seed-deliveries.ts';

/**
 * What a life of the version before leaves behind: every state of a delivery at webhooks in service, suspended, moved,
 * deleted and imported again, including what a kill in the middle of a suspension, a resume or a deletion left.
 */

export const NETWORK_ID = 1;
export const OTHER_NETWORK_ID = 2;
export const EVENT = 'LatePayment';
const ALERT_EVENT = 'webhook.suspended';

/** One entity has an alert URL; the id of the other is not of the form that Paybell makes, and it gets no alerts. */
export const USUAL = `ent_${'0123456789abcdef'.repeat(2)}`;
export const ODD = 'Shop-of_old';
/** Has events that no webhook wanted, and no delivery. */
export const QUIET = `ent_${'fedcba9876543210'.repeat(2)}`;

export const ALERT_URL = 'https://alerts.example.com/now';

export const WEBHOOKS = {
  active: 'wh_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  moved: 'wh_moved',
  suspended: 'wh_0199c2a6e0b17d3c8a54f1e2d3c4b5a7',
  imported: '-_X9',
  /** Deleted, and imported again under its id for another network and event. */
  again: 'again',
  /** Bears the name that alerts are listed under. */
  notice: 'notice',
  gone: 'wh_0199c2a6e0b17d3c8a54f1e2d3c4b5a8',
} as const;
type Name = keyof typeof WEBHOOKS;

/** No delivery of it is left. */
export const FAILING = 'wh_failing';
export const FAILING_SINCE_MS = 1_763_000_000_123;

type Log = { kind: 'first' | 'retry' | 'redelivery' | 'test'; statusCode?: number; error?: string };
type State = Pick<OldDelivery, 'status'> & Partial<OldDelivery> & { log?: readonly Log[] };

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const OK: Log = { kind: 'first', statusCode: 200 };
const REFUSED: Log = { kind: 'first', error: 'refused' };
const AGAIN: Log = { kind: 'retry', statusCode: 503 };
const ASKED: Log = { kind: 'redelivery', statusCode: 500 };

/** `next` is the schedule's own time. Where it is claimed, `dueMs` is the lease. */
function waitingStates(nowMs: number): State[] {
  const past = nowMs - HOUR_MS;
  const future = nowMs + 5 * HOUR_MS;
  const lease = nowMs + 20_000;
  const pending = { status: 'pending', nextAttemptMs: past } as const;
  const retrying = { status: 'retrying', nextAttemptMs: future, log: [REFUSED], steps: 1 } as const;
  return [
    { ...pending, dueMs: past },
    { ...pending, dueMs: future, nextAttemptMs: future },
    { ...pending, dueMs: lease, claimed: 1, token: 1 },
    { ...pending, dueMs: past, claimed: 1, token: 3 },
    { ...pending, dueMs: past, nextAttemptMs: future, redeliver: 1 },
    { ...pending, dueMs: lease, nextAttemptMs: future, claimed: 1, token: 1, redeliver: 2 },
    { ...pending, dueMs: future, nextAttemptMs: future, log: [ASKED] },
    // Given back by an instance that had no time for it: due since then, and by its schedule long before.
    { ...pending, dueMs: nowMs - 1_000, token: 2 },
    { ...retrying, dueMs: future },
    { ...retrying, dueMs: past, nextAttemptMs: past, log: [REFUSED, AGAIN, AGAIN], steps: 3 },
    { ...retrying, dueMs: lease, nextAttemptMs: past, claimed: 1, token: 2 },
    { ...retrying, dueMs: past, redeliver: 1 },
    { ...retrying, dueMs: lease, claimed: 1, token: 7, redeliver: 1, nextAttemptMs: nowMs + 2 * DAY_MS },
  ];
}

const heldStates: State[] = [
  { status: 'held' },
  { status: 'held', log: [REFUSED, AGAIN], steps: 2 },
  { status: 'held', redeliver: 1 },
  { status: 'held', log: [REFUSED], steps: 1, redeliver: 2, token: 4 },
];

function completedStates(nowMs: number): State[] {
  const lease = nowMs + 20_000;
  const delivered = { status: 'delivered', deliveredAtMs: nowMs - HOUR_MS, log: [OK], steps: 1 } as const;
  const failed = { status: 'failed', log: [REFUSED, AGAIN], steps: 2 } as const;
  return [
    delivered,
    { ...delivered, log: [REFUSED, AGAIN, { kind: 'retry', statusCode: 204 }], steps: 3, token: 3 },
    { ...delivered, log: [{ kind: 'test', statusCode: 200 }] },
    { ...delivered, log: [{ kind: 'redelivery', statusCode: 200 }], steps: 0 },
    { ...delivered, log: [OK, ASKED] },
    { ...delivered, log: [{ kind: 'test', statusCode: 200 }, ASKED], redeliver: 1, dueMs: nowMs },
    { ...delivered, redeliver: 1, dueMs: nowMs - 5_000 },
    { ...delivered, redeliver: 3, dueMs: lease, claimed: 1, token: 2 },
    { ...delivered, log: [], attempts: 1 },
    { ...failed, log: [REFUSED], steps: 1 },
    failed,
    { ...failed, log: [{ kind: 'test', error: 'dns' }], steps: 1 },
    { ...failed, redeliver: 1, dueMs: nowMs },
    { status: 'cancelled' },
    { status: 'cancelled', log: [REFUSED, AGAIN], steps: 2, token: 2 },
    { status: 'cancelled', redeliver: 1 },
    { status: 'cancelled', log: [REFUSED], redeliver: 1, dueMs: nowMs },
  ];
}

function statesOf(name: Name, nowMs: number): State[] {
  const [waiting, completed] = [waitingStates(nowMs), completedStates(nowMs)];
  // Held at a webhook in service and waiting at a suspended one: a kill in the middle of its resume or suspension.
  if (name === 'active' || name === 'suspended' || name === 'gone') return [...waiting, ...heldStates, ...completed];
  return [...waiting.slice(0, 3), ...heldStates.slice(0, 1), ...completed.slice(0, 3)];
}

type Rows = { events: Record<string, SqlValue>[]; deliveries: OldDelivery[]; attempts: Record<string, SqlValue>[] };

/** Ids carry the clock of another machine: before and after that of the database, by less than a step. */
const SKEWS_MS = [-40, 0, 37];
const STEP_MS = 7_654_321;

function postUrlOf(name: Name): string {
  return `https://${name}.example.com/hook`;
}

class Builder {
  readonly rows: Rows = { events: [], deliveries: [], attempts: [] };
  #steps = 0;

  constructor(
    private readonly entityId: string,
    private readonly firstAtMs: number,
  ) {}

  /** An event with one delivery for each of these; its id is one of Paybell's or one that the sender chose. A lost event is gone. */
  add(
    event: string,
    deliveries: readonly (State & { webhookId: string; postUrl: string })[],
    { isLost = false, networkId = NETWORK_ID } = {},
  ): void {
    const step = this.#steps++;
    const createdAtMs = this.firstAtMs + step * STEP_MS;
    const idAtMs = createdAtMs + (SKEWS_MS[step % SKEWS_MS.length] ?? 0);
    const eventId = isLost || step % 2 === 0 ? `evt_${hexAt(idAtMs)}` : `order ${step} für ${this.entityId}`;
    const shared = { entityId: this.entityId, eventId, event, networkId, createdAtMs };
    if (!isLost) {
      const counted = { deliveries: deliveries.length, created_at_ms: createdAtMs };
      const body = JSON.stringify({ eventId, step, text: 'ünïcode' });
      this.rows.events.push({ ...counted, entity_id: this.entityId, id: eventId, event, network_id: networkId, body });
    }
    for (const state of deliveries) this.#addDelivery(shared, `dlv_${hexAt(idAtMs)}`, state);
  }

  #addDelivery(
    shared: Pick<OldDelivery, 'entityId' | 'eventId' | 'event' | 'networkId' | 'createdAtMs'>,
    id: string,
    { log = [], ...state }: State & { webhookId: string; postUrl: string },
  ): void {
    const last = log.at(-1);
    const row: OldDelivery = {
      ...shared,
      id,
      attempts: log.length,
      steps: 0,
      dueMs: null,
      nextAttemptMs: null,
      claimed: 0,
      token: 0,
      redeliver: 0,
      redeliveryId: null,
      deliveredAtMs: null,
      lastStatusCode: last?.statusCode ?? null,
      lastError: last?.error ?? null,
      ...state,
    };
    this.rows.deliveries.push(row);
    for (const [index, { kind, statusCode, error }] of log.entries()) {
      this.rows.attempts.push({
        entity_id: shared.entityId,
        delivery_id: id,
        attempt: index + 1,
        kind,
        // Only the last attempt went to the URL that the delivery shows.
        post_url: index === log.length - 1 ? row.postUrl : 'https://before.example.com/hook',
        started_at_ms: shared.createdAtMs + index * 1_000 + 7,
        duration_ms: 10 + index,
        status_code: statusCode ?? null,
        error: error ?? null,
        response: statusCode === undefined ? null : `response ${index}`,
      });
    }
  }
}

function rowsOf(entityId: string, nowMs: number, firstAtMs: number): Rows {
  const builder = new Builder(entityId, firstAtMs);
  const names = Object.keys(WEBHOOKS) as Name[];
  const states = names.map((name) => ({ name, states: statesOf(name, nowMs) }));
  for (let step = 0; states.some(({ states: left }) => step < left.length); step++) {
    const deliveries = states.flatMap(({ name, states: left }) => {
      const state = left[step];
      return state === undefined ? [] : [{ ...state, webhookId: WEBHOOKS[name], postUrl: postUrlOf(name) }];
    });
    builder.add(EVENT, deliveries);
  }
  const again = { webhookId: WEBHOOKS.again, postUrl: 'https://again.example.com/other' };
  for (const state of [...waitingStates(nowMs).slice(0, 2), ...completedStates(nowMs).slice(0, 2)]) {
    builder.add('TransferCreated', [{ ...state, ...again }], { networkId: OTHER_NETWORK_ID });
  }
  const alert = { webhookId: 'notice', postUrl: 'https://alerts.example.com/before' };
  for (const state of [...waitingStates(nowMs).slice(0, 2), ...completedStates(nowMs).slice(0, 2)]) {
    builder.add(ALERT_EVENT, [{ ...state, ...alert }]);
  }
  builder.add(EVENT, []);
  builder.add('TransferFinalized', []);
  const lost = { webhookId: WEBHOOKS.active, postUrl: postUrlOf('active'), ...completedStates(nowMs)[0] } as const;
  builder.add(EVENT, [{ status: 'delivered', ...lost }], { isLost: true });
  return builder.rows;
}

function webhooksOf(entityId: string): OldWebhook[] {
  const usual = (name: Exclude<Name, 'gone'>, seq: number) => {
    return { entityId, id: WEBHOOKS[name], networkId: NETWORK_ID, event: EVENT, postUrl: postUrlOf(name), seq };
  };
  return [
    usual('active', 1),
    { ...usual('moved', 2), postUrl: 'https://moved.example.com/elsewhere', failingSinceMs: FAILING_SINCE_MS },
    { ...usual('suspended', 3), suspendedAtS: 1_763_000_000 },
    usual('imported', 14),
    {
      ...usual('again', 15),
      networkId: OTHER_NETWORK_ID,
      event: 'TransferCreated',
      postUrl: 'https://again.example.com/other',
    },
    usual('notice', 16),
    { ...usual('active', 99), id: FAILING, event: 'TransferFinalized', failingSinceMs: FAILING_SINCE_MS },
  ];
}

/** The first delivery was made with the first day, so that its id lies in the day before. */
export async function seedOldStore(db: Database, nowMs: number): Promise<void> {
  const firstAtMs = Math.floor((nowMs - 10 * DAY_MS) / DAY_MS) * DAY_MS;
  await insertOldRows(db, 'entities', [oldEntity(USUAL, ALERT_URL), oldEntity(ODD), oldEntity(QUIET)]);
  await insertOldRows(db, 'webhooks', [...webhooksOf(USUAL), ...webhooksOf(ODD)].map(oldWebhookRow));
  const parts = [rowsOf(USUAL, nowMs, firstAtMs), rowsOf(ODD, nowMs, firstAtMs + 1)];
  const quiet = new Builder(QUIET, firstAtMs);
  quiet.add(EVENT, []);
  const events = [...parts.flatMap((rows) => rows.events), ...quiet.rows.events];
  await insertOldRows(db, 'events', events);
  await insertOldRows(db, 'deliveries', parts.flatMap(({ deliveries }) => deliveries).map(oldDeliveryRow));
  await insertOldRows(
    db,
    'attempts',
    parts.flatMap(({ attempts }) => attempts),
  );
}

export type ExpectedDelivery = DeliveryRow & {
  entityId: string;
  /** Its event is gone. */
  isLost: boolean;
  body: string;
  attemptLog: StoredAttempt[];
  view: Delivery;
  webhook: 'active' | 'suspended' | 'gone';
  isQueued: boolean;
  /** When its next attempt may start, if its webhook takes any. */
  claimableAtMs: number;
  nextKind: 'first' | 'retry' | 'redelivery';
};

/** The webhook as it is, whatever it was when the delivery was made. */
function webhookState({ entityId, webhookId, event }: ShownDelivery): 'active' | 'suspended' | 'gone' {
  if (event === ALERT_EVENT) return entityId === USUAL ? 'active' : 'gone';
  if (webhookId === WEBHOOKS.again) return event === EVENT ? 'gone' : 'active';
  if (webhookId === WEBHOOKS.suspended) return 'suspended';
  return webhookId === WEBHOOKS.gone ? 'gone' : 'active';
}

const WAITING: readonly string[] = ['pending', 'retrying', 'held'];

/**
 * What a delivery shows after the conversion: the same, but that the webhook decides what a waiting one is. What was held
 * at a webhook in service goes out; what waited for a deleted one is cancelled; an attempt that was asked for and failed
 * makes a pending one retrying.
 */
export function expectedNow(old: ShownDelivery): ExpectedDelivery {
  const { entityId, createdAtMs, nextAttemptMs, body, attemptLog, redeliver, isClaimed, dueMs, ...shown } = old;
  const isLost = body === '';
  const isWaiting = WAITING.includes(shown.status);
  const waiting = {
    active: shown.attempts > 0 ? 'retrying' : 'pending',
    suspended: 'held',
    gone: 'cancelled',
  } as const;
  const state = webhookState(old);
  const status = isWaiting ? waiting[state] : shown.status;
  const nextMs = isWaiting && state === 'active' ? (nextAttemptMs ?? createdAtMs) : null;
  const scheduledMs = redeliver === 0 ? (nextAttemptMs ?? 0) : isClaimed ? 0 : (dueMs ?? 0);
  const view = { ...shown, status, dateNextAttempt: nextMs === null ? null : Math.floor(nextMs / 1000) };
  return {
    ...view,
    entityId,
    id: view.deliveryId,
    createdAtMs,
    nextAttemptMs: nextMs,
    deliveredAtMs: shown.dateDelivered === null ? null : shown.dateDelivered * 1000,
    isLost,
    body,
    attemptLog,
    view,
    webhook: state,
    isQueued: isWaiting || dueMs !== null,
    claimableAtMs: Math.max(scheduledMs, isClaimed ? (dueMs ?? 0) : 0),
    nextKind: redeliver > 0 ? 'redelivery' : shown.attempts > 0 ? 'retry' : 'first',
  };
}
