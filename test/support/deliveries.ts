import { loadConfig } from '../../src/config.ts';
import type { AttemptTools } from '../../src/delivery/attempt.ts';
import { Engine } from '../../src/delivery/engine.ts';
import type { OutgoingRequest, Sender } from '../../src/delivery/sender.ts';
import { SigningKeyCache } from '../../src/delivery/signing-key-cache.ts';
import type { AttemptError, DeliveryStatus, Outcome } from '../../src/domain/attempt.ts';
import { destinationKey } from '../../src/domain/destination.ts';
import type { DomainError } from '../../src/domain/errors.ts';
import { createLogger, type Logger } from '../../src/log.ts';
import type { Database } from '../../src/store/database/database.ts';
import { Columns, type RowOf, readInteger } from '../../src/store/database/sql.ts';
import { claimDue } from '../../src/store/deliveries/claim.ts';
import type { Claimed } from '../../src/store/deliveries/claimed.ts';
import { type Acceptance, acceptEvents, type NewEvent } from '../../src/store/events/accept.ts';
import { newId } from '../../src/store/new-id.ts';
import { attemptTable, deliveryTable } from '../../src/store/tables.ts';
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
  return { entityId, eventId, ...LATE_ON_1, body, createdAtMs: Date.now(), firstDelayMs: 0, ...given };
}

export function accept(db: Database, ...events: readonly NewEvent[]): Promise<(Acceptance | DomainError)[]> {
  return db.transaction((queries) => acceptEvents(queries, db.dialect, events));
}

/** Accepts that many events for LATE_ON_1 in one commit. */
export async function acceptMany(db: Database, entityId: string, count: number): Promise<NewEvent[]> {
  const events = Array.from({ length: count }, () => newEvent(entityId));
  await accept(db, ...events);
  return events;
}

const STATE = new Columns({
  ...deliveryTable.pick([
    'deliveryId',
    'eventId',
    'webhookId',
    'destination',
    'status',
    'attempts',
    'steps',
    'dueMs',
    'nextAttemptMs',
    'createdAtMs',
    'deliveredAtMs',
    'lastStatusCode',
    'lastError',
  ]).shape,
  token: deliveryTable.shape.claimToken,
});
export type DeliveryState = RowOf<typeof STATE>;

/** All deliveries of the entity, in the order of their creation. */
export function readDeliveries(db: Database, entityId: string): Promise<DeliveryState[]> {
  return STATE.all(db, `select ${STATE.list} from deliveries where entity_id = $1 order by id`, [entityId]);
}

export async function statuses(db: Database, entityId: string): Promise<DeliveryStatus[]> {
  return (await readDeliveries(db, entityId)).map(({ status }) => status);
}

const LOGGED_ATTEMPT = attemptTable.pick([
  'deliveryId',
  'attempt',
  'kind',
  'postUrl',
  'startedAtMs',
  'durationMs',
  'statusCode',
  'error',
  'response',
]);
export type LoggedAttempt = RowOf<typeof LOGGED_ATTEMPT>;

export function readAttempts(db: Database, entityId: string): Promise<LoggedAttempt[]> {
  const sql = `select ${LOGGED_ATTEMPT.list} from attempts where entity_id = $1 order by delivery_id, attempt`;
  return LOGGED_ATTEMPT.all(db, sql, [entityId]);
}

export function databaseNowMs(db: Database): Promise<number> {
  return readInteger(db, db.dialect.nowMs);
}

/** Lets that much time pass for the waiting and leased deliveries of the entity. */
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

/** Deletes all deliveries, so that the engine of the next test has only its own. */
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
};

/** The middle of the jitter, so that every step has its nominal length. */
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
