import { loadConfig } from '../../src/config.ts';
import type { AttemptTools } from '../../src/delivery/attempt.ts';
import { Engine } from '../../src/delivery/engine.ts';
import type { OutgoingRequest, Sender } from '../../src/delivery/sender.ts';
import { SigningKeyCache } from '../../src/delivery/signing-key-cache.ts';
import type { AttemptError, DeliveryStatus, Outcome } from '../../src/domain/attempt.ts';
import { destinationKey } from '../../src/domain/destination.ts';
import type { DomainError } from '../../src/domain/errors.ts';
import { createLogger, type Logger } from '../../src/log.ts';
import type { Database, SqlInteger } from '../../src/store/database/database.ts';
import { claimDue } from '../../src/store/deliveries/claim.ts';
import type { Claimed } from '../../src/store/deliveries/claimed.ts';
import { type Acceptance, acceptEvents, type NewEvent } from '../../src/store/events/accept.ts';
import { newId } from '../../src/store/new-id.ts';
import { TEST_BOX } from './api.ts';
import { newEntity, register } from './webhooks.ts';

/** The cell that tests register for and send to where it does not matter. */
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
  return { entityId, eventId, ...LATE_ON_1, body, createdAtMs: Date.now(), firstDelayMs: 0, ...given };
}

export function accept(db: Database, ...events: readonly NewEvent[]): Promise<(Acceptance | DomainError)[]> {
  return db.transaction((queries) => acceptEvents(queries, db.dialect, events));
}

/** That many events for LATE_ON_1, in one commit. */
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
  dueMs: number | null;
  nextAttemptMs: number | null;
  token: number;
  createdAtMs: number;
  deliveredAtMs: number | null;
  lastStatusCode: number | null;
  lastError: string | null;
};

type Row = Record<string, SqlInteger | string | null>;

const numberOrNull = (value: SqlInteger | null | undefined) => (value == null ? null : Number(value));
const textOrNull = (value: SqlInteger | null | undefined) => (value == null ? null : String(value));

/** All deliveries of the entity, in the order in which they were made. */
export async function readDeliveries(db: Database, entityId: string): Promise<DeliveryState[]> {
  const rows = await db.all<Row>('select * from deliveries where entity_id = $1 order by id', [entityId]);
  return rows.map((row) => ({
    deliveryId: String(row.id),
    eventId: String(row.event_id),
    webhookId: String(row.webhook_id),
    destination: String(row.destination),
    status: row.status as DeliveryStatus,
    attempts: Number(row.attempts),
    steps: Number(row.steps),
    dueMs: numberOrNull(row.due_ms),
    nextAttemptMs: numberOrNull(row.next_attempt_ms),
    token: Number(row.claim_token),
    createdAtMs: Number(row.created_at_ms),
    deliveredAtMs: numberOrNull(row.delivered_at_ms),
    lastStatusCode: numberOrNull(row.last_status_code),
    lastError: textOrNull(row.last_error),
  }));
}

export async function statuses(db: Database, entityId: string): Promise<DeliveryStatus[]> {
  return (await readDeliveries(db, entityId)).map(({ status }) => status);
}

export type LoggedAttempt = {
  deliveryId: string;
  attempt: number;
  kind: string;
  postUrl: string;
  startedAtMs: number;
  durationMs: number;
  statusCode: number | null;
  error: string | null;
  response: string | null;
};

export async function readAttempts(db: Database, entityId: string): Promise<LoggedAttempt[]> {
  const sql = 'select * from attempts where entity_id = $1 order by delivery_id, attempt';
  return (await db.all<Row>(sql, [entityId])).map((row) => ({
    deliveryId: String(row.delivery_id),
    attempt: Number(row.attempt),
    kind: String(row.kind),
    postUrl: String(row.post_url),
    startedAtMs: Number(row.started_at_ms),
    durationMs: Number(row.duration_ms),
    statusCode: numberOrNull(row.status_code),
    error: textOrNull(row.error),
    response: textOrNull(row.response),
  }));
}

export async function databaseNowMs(db: Database): Promise<number> {
  return Number((await db.get<{ now_ms: SqlInteger }>(`select ${db.dialect.nowMs} as now_ms`))?.now_ms);
}

/** Lets that much time pass for everything of the entity that waits or is leased. */
export async function letPass(db: Database, entityId: string, ms: number): Promise<void> {
  await db.transaction((queries) =>
    queries.run(
      `update deliveries set due_ms = due_ms - $2, next_attempt_ms = next_attempt_ms - $2
       where entity_id = $1 and due_ms is not null`,
      [entityId, ms],
    ),
  );
}

export const LEASE_MS = 30_000;

export function claim(db: Database, entityId: string, most = 100, postUrl = HOOK): Promise<Claimed[]> {
  return db.transaction((queries) => claimDue(db, queries, destinationKey(entityId, postUrl), most, LEASE_MS));
}

/** What is due is forgotten, so that the next test's engine has only its own. */
export async function forgetDeliveries(db: Database): Promise<void> {
  await db.transaction(async (queries) => {
    for (const table of ['attempts', 'deliveries', 'events']) await queries.run(`delete from ${table}`);
  });
}

export function respondedWith(statusCode: number, given: { retryAfter?: string; body?: string } = {}): Outcome {
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
};

/** The middle of the jitter: every step is as long as it is written. */
const middle = () => 0.5;

export function createEngine(db: Database, sender: Sender, { settings, tools, log }: EngineOptions = {}): Engine {
  const config = loadConfig(settings ?? {});
  return new Engine({
    db,
    config,
    log: log ?? createLogger('silent'),
    tools: {
      sender,
      keys: new SigningKeyCache(db, TEST_BOX, config.SIGN_ASYMMETRIC),
      schedule: config.RETRY_SCHEDULE,
      bodySignatureHeader: config.BODY_SIGNATURE_HEADER,
      nowMs: Date.now,
      random: middle,
      ...tools,
    },
  });
}

/** Runs an engine while the work is done, and stops it whatever comes of that. */
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
