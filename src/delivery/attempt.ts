import { BoundedMap } from '../bounded-map.ts';
import type { Config } from '../config.ts';
import { decideNext, type ErrorOutcome, isSuccess } from '../domain/attempt.ts';
import { endpointId } from '../domain/ids.ts';
import { bodySignature, type SigningKeys, signSequence, signWith } from '../domain/signing.ts';
import { addTraceHeaders } from '../domain/trace-context.ts';
import { type Database, StoreUnavailableError } from '../store/database/database.ts';
import type { Claimed } from '../store/deliveries/claim/claimed.ts';
import type { AttemptRecord } from '../store/deliveries/record/attempt-log.ts';
import { recordAttempts } from '../store/deliveries/record/record-attempts.ts';
import { type SecretBox, SecretKeyError } from '../store/tenants/secret-box.ts';
import type { Tracer } from '../telemetry/tracer.ts';
import { version } from '../version.ts';
import { fileBudget } from './open-files.ts';
import { createSender, type OutgoingRequest, type Sender } from './sender.ts';
import { type RequestKeys, SigningKeyCache } from './signing-key-cache.ts';

export type AttemptTools = {
  readonly sender: Sender;
  readonly keys: SigningKeyCache;
  readonly schedule: readonly number[];
  readonly bodySignatureHeader: string | undefined;
  readonly nowMs: () => number;
  readonly random: () => number;
  /** Null if OpenTelemetry is off. */
  readonly tracer?: Tracer | null;
};

export function createAttemptTools(
  config: Config,
  db: Database,
  box: SecretBox,
  tracer: Tracer | null = null,
): AttemptTools {
  return {
    sender: createSender({
      timeoutMs: config.DELIVERY_TIMEOUT,
      allowInsecureTargets: config.ALLOW_INSECURE_TARGETS,
      userAgent: `Paybell/${version}`,
      ...(config.EXTRA_CA_FILE !== undefined && { extraCa: config.EXTRA_CA_FILE }),
      proxy: config.EGRESS_PROXY,
      sourceAddress: config.EGRESS_BIND,
      maxKept: fileBudget(config).kept,
    }),
    keys: new SigningKeyCache(db, box, config.SIGN_ASYMMETRIC, config.BODY_SIGNATURE_KEY),
    schedule: config.RETRY_SCHEDULE,
    bodySignatureHeader: config.BODY_SIGNATURE_HEADER,
    nowMs: Date.now,
    random: Math.random,
    tracer,
  };
}

/** The lease of a claim is too short for a request. Another instance may soon send the delivery. */
export class LeaseTooShortError extends Error {
  override readonly name = 'LeaseTooShortError';
}

/**
 * Prepares, signs and sends one request: a first attempt, a retry and a redelivery alike. Rejects only for an error on
 * our side, before anything is sent: the database is unavailable, `SECRET_KEY` has changed, or no file or port is free.
 * Calls `mayBegin` right before the request.
 */
export async function makeAttempt(
  tools: AttemptTools,
  delivery: Claimed,
  mayBegin: () => boolean = () => true,
): Promise<AttemptRecord> {
  const startedAtMs = tools.nowMs();
  const span = tools.tracer?.attempt(delivery, startedAtMs) ?? null;
  const traced = span === null ? delivery : { ...delivery, trace: span.context };
  const prepared = prepare(tools, traced, Math.floor(startedAtMs / 1000));
  const request = prepared instanceof Promise ? await prepared : prepared;
  // Checked after the preparation, which may wait for the database.
  if (!mayBegin()) throw new LeaseTooShortError('the lease ends before a request could');
  const outcome = 'kind' in request ? request : await tools.sender.send(request);
  const { kind, status, steps } = delivery;
  const { schedule, random } = tools;
  const next = decideNext({ outcome, kind, status, steps, schedule, nowMs: tools.nowMs(), random });
  span?.end({ outcome, next });
  return { delivery, startedAtMs, outcome, next };
}

type Prepared = OutgoingRequest | ErrorOutcome;

/**
 * The outcome if the client certificate has expired. A receiver that asks for the certificate would reject it, and any
 * other receiver must not get the request.
 */
const CERTIFICATE_EXPIRED: ErrorOutcome = { kind: 'error', error: 'certificate_expired', durationMs: 0 };

/** Synchronous if the signing keys are cached, as they nearly always are. */
function prepare(tools: AttemptTools, delivery: Claimed, nowS: number): Prepared | Promise<Prepared> {
  const keys = tools.keys.keysFor(delivery.entityId, delivery.revision, nowS, delivery.endpointNo);
  return keys instanceof Promise
    ? keys.then((found) => sign(tools, delivery, found, nowS), toUnprocessable)
    : sign(tools, delivery, keys, nowS);
}

function sign(tools: AttemptTools, delivery: Claimed, keys: RequestKeys, nowS: number): Prepared {
  const { entityId, deliveryId, eventId, postUrl, body } = delivery;
  try {
    if (body === null) throw new Error('the event no longer exists');
    const { certificate } = keys;
    if (certificate !== null && certificate.dateExpires <= nowS) return CERTIFICATE_EXPIRED;
    const headers = headersFor({ deliveryId, eventId, body, keys, nowS });
    if (delivery.sequence !== null) addSequence(headers, keys, delivery, delivery.sequence);
    if (tools.bodySignatureHeader !== undefined && keys.bodyKey !== null) {
      headers[tools.bodySignatureHeader] = bodySignature(keys.bodyKey, body);
    }
    if (delivery.trace !== null) addTraceHeaders(headers, delivery.trace);
    // The endpoint's headers come first, so that none of them can replace one that Paybell sets.
    const all = keys.headers === null ? headers : { ...keys.headers, ...headers };
    return { entityId, postUrl, certificate, headers: all, body };
  } catch (error) {
    return toUnprocessable(error);
  }
}

function toUnprocessable(error: unknown): ErrorOutcome {
  // Errors of these classes say nothing about the delivery, so they must not end the delivery.
  if (error instanceof StoreUnavailableError || error instanceof SecretKeyError) throw error;
  // A retry would fail in the same way, so the delivery fails now and records why.
  const detail = error instanceof Error ? error.name : 'unknown';
  return { kind: 'error', error: 'unprocessable', durationMs: 0, detail };
}

/** Records an attempt whose batch failed. If the database rejects it too, records it without the part that may be the cause. */
export async function recordAlone(db: Database, record: AttemptRecord): Promise<Set<string>> {
  const write = (one: AttemptRecord) => db.transaction((queries) => recordAttempts(queries, db.dialect, [one]));
  try {
    return await write(record);
  } catch (error) {
    if (error instanceof StoreUnavailableError) throw error;
    return write(withoutRejectedParts(record));
  }
}

/** A successful attempt loses its response body. Any other attempt makes its delivery fail permanently. */
function withoutRejectedParts(record: AttemptRecord): AttemptRecord {
  const { outcome, next } = record;
  if (outcome.kind === 'response' && isSuccess(outcome)) return { ...record, outcome: { ...outcome, body: '' } };
  const status = next.delayMs === null ? next.status : 'failed';
  return {
    ...record,
    outcome: { kind: 'error', error: 'unprocessable', durationMs: outcome.durationMs },
    next: { ...next, status, delayMs: null },
  };
}

type Signed = { deliveryId: string; eventId: string; body: string; keys: SigningKeys; nowS: number };

export function headersFor({ deliveryId, eventId, body, keys, nowS }: Signed): Record<string, string> {
  return {
    'content-type': 'application/json',
    'webhook-id': deliveryId,
    'webhook-timestamp': String(nowS),
    'webhook-signature': signWith(keys, { id: deliveryId, timestampS: nowS, body }),
    'paybell-event-id': eventId,
  };
}

/** Ids are cached, because writing a number of 53 bits takes 190 ns, and a look-up takes 10 ns. */
const MAX_ENDPOINT_IDS = 10_000;
const endpointIds = new BoundedMap<number, string>(MAX_ENDPOINT_IDS);

function endpointIdOf(no: number): string {
  const known = endpointIds.get(no);
  if (known !== undefined) return known;
  const id = endpointId(no);
  endpointIds.set(no, id);
  return id;
}

type Numbered = Pick<Claimed, 'deliveryId' | 'sequenceEndpointNo'>;

/**
 * A redelivery and a delivery of a moved webhook keep the sequence number and the endpoint with which they were
 * accepted.
 */
function addSequence(headers: Record<string, string>, keys: SigningKeys, delivery: Numbered, sequence: number): void {
  const { deliveryId, sequenceEndpointNo } = delivery;
  const endpoint = endpointIdOf(sequenceEndpointNo);
  headers['paybell-endpoint'] = endpoint;
  headers['paybell-sequence'] = String(sequence);
  headers['paybell-sequence-signature'] = signSequence(keys, { id: deliveryId, endpointId: endpoint, sequence });
}
