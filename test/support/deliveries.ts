import { loadConfig } from '../../src/config.ts';
import type { AttemptTools } from '../../src/delivery/attempt.ts';
import { Engine } from '../../src/delivery/engine.ts';
import type { LocalResource } from '../../src/delivery/local-shortage.ts';
import type { OutgoingRequest, Sender } from '../../src/delivery/sender.ts';
import { SigningKeyCache } from '../../src/delivery/signing-key-cache.ts';
import type { Workers } from '../../src/delivery/worker-health.ts';
import type { AttemptError, DeliveryStatus, Outcome } from '../../src/domain/attempt.ts';
import type { DomainError } from '../../src/domain/errors.ts';
import { eventNumber } from '../../src/domain/ids.ts';
import { type DestinationKey, destinationKey } from '../../src/domain/post-url.ts';
import { createLogger, type Logger } from '../../src/log.ts';
import type { Database, SqlInteger, SqlUuid } from '../../src/store/database/database.ts';
import { entityKey } from '../../src/store/database/sql.ts';
import { claimDeliveries } from '../../src/store/deliveries/claim/claim.ts';
import type { Claimed } from '../../src/store/deliveries/claim/claimed.ts';
import { readDelivery } from '../../src/store/deliveries/read.ts';
import { recordAttempts } from '../../src/store/deliveries/record/record-attempts.ts';
import { statusInQueue, statusOfCode } from '../../src/store/deliveries/states.ts';
import { acceptEvents } from '../../src/store/events/accept.ts';
import type { Acceptance, NewEvent } from '../../src/store/events/acceptance.ts';
import { newId } from '../../src/store/new-id.ts';
import { TEST_BOX } from './api.ts';
import { until } from './until.ts';
import { newEntity, register } from './webhooks.ts';

/** The network and event of tests for which it does not matter. */
export const LATE_ON_1 = { networkId: 1, event: 'LatePayment' } as const;

export const HOOK = 'https://hooks.example.com/paybell';

/** An entity with one webhook for LATE_ON_1. */
export async function newReceiver(db: Database, postUrl = HOOK): Promise<{ entityId: string; webhookId: string }> {
  const entityId = await newEntity(db);
  return { entityId, webhookId: await addReceiver(db, entityId, postUrl) };
}

export async function addReceiver(db: Database, entityId: string, postUrl: string): Promise<string> {
  const { webhooks } = await register(db, entityId, postUrl, [LATE_ON_1]);
  return webhooks[0]?.webhookId ?? '';
}

export function newEvent(entityId: string, given: Partial<NewEvent> = {}): NewEvent {
  const eventId = given.eventId ?? newId('evt');
  const body = JSON.stringify({ eventId, ...LATE_ON_1 });
  return { entityId, eventId, ...LATE_ON_1, body, firstDelayMs: 0, ...given };
}

/** In as few commits as acceptance needs for them. */
export async function accept(db: Database, ...events: readonly NewEvent[]): Promise<(Acceptance | DomainError)[]> {
  const results: (Acceptance | DomainError)[] = [];
  while (results.length < events.length) {
    const rest = events.slice(results.length);
    const group = await db.transaction((queries) => acceptEvents(queries, db.dialect, rest));
    results.push(...group.results);
  }
  return results;
}

/** Accepts that many events for LATE_ON_1. */
export async function acceptMany(db: Database, entityId: string, count: number): Promise<NewEvent[]> {
  const events = Array.from({ length: count }, () => newEvent(entityId));
  await accept(db, ...events);
  return events;
}

export type DeliveryState = {
  deliveryId: string;
  eventId: string;
  webhookId: string;
  destination: string;
  status: DeliveryStatus;
  attempts: number;
  steps: number;
  /** Null once it is complete. */
  dueMs: number | null;
  leaseMs: number;
  nextAttemptMs: number | null;
  redeliver: number;
  token: number;
  createdAtMs: number;
  deliveredAtMs: number | null;
  lastStatusCode: number | null;
  lastError: string | null;
};

const numberOrNull = (value: SqlInteger | null | undefined) => (value == null ? null : Number(value));

type QueueRow = Record<string, SqlInteger | null> & {
  id: SqlUuid;
  error: string | null;
};
type HeadRow = { webhook_no: SqlInteger; webhook_id: string; destination: string; blocked: SqlInteger };

/** All deliveries of the entity, those in the queue and those in the record, in the order in which they were made. */
export async function readDeliveries(db: Database, entityId: string): Promise<DeliveryState[]> {
  const { hexOf } = db.dialect;
  const key = [entityKey(db.dialect, entityId)];
  const queued = await db.all<QueueRow>('select * from queue where entity_id = $1', key);
  const recorded = await db.all<QueueRow>('select * from deliveries where entity_id = $1', key);
  // Not joined: without statistics, PostgreSQL may read all heads for each of thousands of deliveries.
  const heads = await db.all<HeadRow>('select * from queue_heads where entity_id = $1', key);
  const headOf = new Map(heads.map((head) => [Number(head.webhook_no), head]));
  const events = await db.all<{ no: SqlUuid; event_id: string | null }>(
    'select no, event_id from events where entity_id = $1',
    key,
  );
  const eventIds = new Map(events.map(({ no, event_id }) => [hexOf(no), event_id]));
  const states = [...queued, ...recorded].map((row): DeliveryState => {
    const eventNo = eventNumber(hexOf(row.id));
    const isQueued = row.due_ms !== undefined;
    const head = headOf.get(Number(row.webhook_no));
    if (head === undefined) throw new Error(`the delivery ${hexOf(row.id)} has no head`);
    const status = isQueued
      ? statusInQueue(numberOrNull(row.recorded), Number(row.attempts), Number(head.blocked))
      : statusOfCode(Number(row.status));
    return {
      deliveryId: `dlv_${hexOf(row.id)}`,
      eventId: eventIds.get(eventNo) ?? `evt_${eventNo}`,
      webhookId: head.webhook_id,
      destination: head.destination,
      status,
      attempts: Number(row.attempts),
      steps: Number(row.steps ?? 0),
      dueMs: numberOrNull(row.due_ms),
      leaseMs: Number(row.lease_ms ?? 0),
      nextAttemptMs: isQueued ? (numberOrNull(row.scheduled_ms) ?? numberOrNull(row.due_ms)) : null,
      redeliver: Number(row.redeliver ?? 0),
      token: Number(row.token ?? 0),
      createdAtMs: Number(row.created_at_ms),
      deliveredAtMs: numberOrNull(row.ended_at_ms),
      lastStatusCode: numberOrNull(row.status_code),
      lastError: row.error,
    };
  });
  return states.sort((a, b) => (a.deliveryId < b.deliveryId ? -1 : 1));
}

export async function statuses(db: Database, entityId: string): Promise<DeliveryStatus[]> {
  return (await readDeliveries(db, entityId)).map(({ status }) => status);
}

export type LoggedAttempt = {
  deliveryId: string;
  responseHeaders: { name: string; value: string }[] | null;
  attempt: number;
  kind: string;
  postUrl: string;
  startedAtMs: number;
  durationMs: number;
  statusCode: number | null;
  error: string | null;
  response: string | null;
};

/** All attempts of the entity's deliveries, wherever they are kept. */
export async function readAttempts(db: Database, entityId: string): Promise<LoggedAttempt[]> {
  const logged: LoggedAttempt[] = [];
  for (const { deliveryId } of await readDeliveries(db, entityId)) {
    const delivery = await readDelivery(db, entityId, deliveryId);
    for (const attempt of delivery?.attemptLog ?? []) logged.push({ deliveryId, ...attempt });
  }
  return logged;
}

export async function databaseNowMs(db: Database): Promise<number> {
  return Number((await db.get<{ now_ms: SqlInteger }>(`select ${db.dialect.nowMs} as now_ms`))?.now_ms);
}

/** Lets that much time pass for the waiting and leased deliveries of the entity. */
export async function letPass(db: Database, entityId: string, ms: number): Promise<void> {
  const key = entityKey(db.dialect, entityId);
  await db.transaction(async (queries) => {
    await queries.run(
      `update queue set due_ms = due_ms - $2, scheduled_ms = scheduled_ms - $2,
         lease_ms = case when lease_ms > $2 then lease_ms - $2 else 0 end where entity_id = $1`,
      [key, ms],
    );
    await queries.run(`update queue_heads set next_due_ms = next_due_ms - $2, full_look_ms = 1 where entity_id = $1`, [
      key,
      ms,
    ]);
  });
}

export const LEASE_MS = 30_000;

export async function claim(db: Database, entityId: string, most = 100, postUrl = HOOK): Promise<Claimed[]> {
  const destination = destinationKey(entityId, postUrl);
  return (await claimDeliveries(db, [{ destination, most }], LEASE_MS)).claimed;
}

/** Makes one attempt for each waiting delivery of the entity, which ends it so. */
export async function completeAll(db: Database, entityId: string, status: 'failed' | 'delivered'): Promise<void> {
  const outcome = respondedWith(status === 'delivered' ? 200 : 500);
  const next = { status, steps: 1, delayMs: null, suspend: null } as const;
  const destinations = new Set((await readDeliveries(db, entityId)).map(({ destination }) => destination));
  for (const destination of destinations) {
    const picks = [{ destination: destination as DestinationKey, most: 10_000 }];
    const { claimed } = await claimDeliveries(db, picks, LEASE_MS);
    const attempts = claimed.map((delivery) => ({ delivery, startedAtMs: 0, outcome, next }));
    await db.transaction((queries) => recordAttempts(queries, db.dialect, attempts));
  }
}

const DELIVERY_TABLES = [
  ...['attempts', 'deliveries', 'queue', 'queue_heads', 'events', 'event_ids'],
  ...['queue_counts', 'delivery_counts', 'event_counts', 'event_day_counts'],
  ...['order_keys', 'subjects', 'supersedable'],
];

/** Deletes all deliveries, so that the engine of the next test has only its own. */
export async function forgetDeliveries(db: Database): Promise<void> {
  await db.transaction(async (queries) => {
    for (const table of DELIVERY_TABLES) await queries.run(`delete from ${table}`);
  });
}

export function respondedWith(
  statusCode: number,
  given: { retryAfter?: string; body?: string; headers?: string } = {},
): Outcome {
  return { kind: 'response', statusCode, retryAfter: null, body: '', durationMs: 1, ...given };
}

export function failedWith(error: AttemptError): Outcome {
  return { kind: 'error', error, durationMs: 1 };
}

export type Respond = (request: OutgoingRequest) => Outcome | Promise<Outcome>;

/** Sends nothing: notes each request, and how many there are at a time. */
export class ScriptedSender implements Sender {
  readonly requests: OutgoingRequest[] = [];
  readonly #inFlight = new Map<string, number>();
  mostInFlight = 0;
  mostPerUrl = new Map<string, number>();

  constructor(public respond: Respond = () => respondedWith(200)) {}

  async send(request: OutgoingRequest): Promise<Outcome> {
    this.requests.push(request);
    this.#count(request.postUrl, 1);
    try {
      return await this.respond(request);
    } finally {
      this.#count(request.postUrl, -1);
    }
  }

  /** Starts to count again. */
  forget(): void {
    this.requests.splice(0);
    this.mostInFlight = 0;
    this.mostPerUrl.clear();
  }

  inFlightAt(postUrl: string): number {
    return this.#inFlight.get(postUrl) ?? 0;
  }

  get eventIds(): string[] {
    return this.requests.map(({ headers }) => headers['paybell-event-id'] ?? '');
  }

  #count(postUrl: string, change: number): void {
    const now = this.inFlightAt(postUrl) + change;
    this.#inFlight.set(postUrl, now);
    this.mostPerUrl.set(postUrl, Math.max(now, this.mostPerUrl.get(postUrl) ?? 0));
    const all = [...this.#inFlight.values()].reduce((sum, count) => sum + count, 0);
    this.mostInFlight = Math.max(this.mostInFlight, all);
  }
}

export type EngineOptions = {
  settings?: Record<string, string>;
  tools?: Partial<AttemptTools>;
  log?: Logger;
  workers?: Workers;
  onShortage?: (resource: LocalResource) => void;
};

/** The middle of the jitter: every step is as long as it is written. */
const middle = () => 0.5;

export function createEngine(
  db: Database,
  sender: Sender,
  { settings, tools, log, workers, onShortage }: EngineOptions = {},
): Engine {
  const config = loadConfig(settings ?? {});
  return new Engine({
    db,
    config,
    log: log ?? createLogger('silent'),
    ...(workers && { workers }),
    ...(onShortage && { onShortage }),
    tools: {
      sender,
      keys: new SigningKeyCache(db, TEST_BOX, config.SIGN_ASYMMETRIC, config.BODY_SIGNATURE_KEY),
      schedule: config.RETRY_SCHEDULE,
      bodySignatureHeader: config.BODY_SIGNATURE_HEADER,
      nowMs: Date.now,
      random: middle,
      ...tools,
    },
  });
}

/** Delivers a few events, so that the destinations of the entity are proven and may have as many in flight as the cap. */
export async function openWindow(
  db: Database,
  engine: Engine,
  sender: ScriptedSender,
  entityId: string,
): Promise<void> {
  const { respond } = sender;
  sender.respond = () => respondedWith(200);
  await acceptMany(db, entityId, 10);
  engine.wake();
  await until('the destinations are proven', async () =>
    (await statuses(db, entityId)).every((status) => status === 'delivered'),
  );
  await forgetDeliveries(db);
  sender.forget();
  sender.respond = respond;
}

/** Runs an engine during the work, and stops it in any case. */
export async function withEngine(
  db: Database,
  sender: Sender,
  work: (engine: Engine) => Promise<void>,
  options: EngineOptions = {},
): Promise<void> {
  const engine = createEngine(db, sender, options);
  await engine.start();
  try {
    await work(engine);
  } finally {
    await engine.stop();
  }
}
