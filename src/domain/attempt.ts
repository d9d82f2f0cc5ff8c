import { nextDelayMs, parseRetryAfter } from './retry.ts';

export const DELIVERY_STATUSES = [
  'pending',
  'retrying',
  'delivered',
  'failed',
  'held',
  'cancelled',
  'superseded',
] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** Why a delivery exists: an accepted event, an alert of Paybell itself, or a test request. */
export const DELIVERY_KINDS = ['event', 'test', 'alert'] as const;
export type DeliveryKind = (typeof DELIVERY_KINDS)[number];

export const ATTEMPT_KINDS = ['first', 'retry', 'redelivery', 'test'] as const;
export type AttemptKind = (typeof ATTEMPT_KINDS)[number];

/** Why a webhook was suspended. */
export const SUSPEND_REASONS = ['gone', 'failing'] as const;
export type SuspendReason = (typeof SUSPEND_REASONS)[number];

/** A webhook whose attempts have all failed for this long is suspended. */
export const SUSPEND_AFTER_MS = 5 * 24 * 3_600_000;

/**
 * Paybell alerts the webhook's entity earlier: when all attempts have failed for `ALERT_AFTER_MS`, and then every
 * `ALERT_EVERY_MS`.
 */
export const ALERT_AFTER_MS = 3_600_000;
export const ALERT_EVERY_MS = 24 * 3_600_000;

/** Why an attempt got no response: the closed list that is stored, shown and documented. */
export const ATTEMPT_ERRORS = [
  /** The attempt (DNS lookup, connection and response together) exceeded its time limit. */
  'timeout',
  /** The host name could not be resolved. */
  'dns',
  /** The host is, or resolves to, an address that is not public or that belongs to this machine. */
  'blocked_address',
  /** The URL no longer meets the rules, such as http after insecure targets were turned off. */
  'invalid_url',
  /** Connection refused. */
  'refused',
  /** There is no route to the address. */
  'unreachable',
  /** The TLS handshake failed: an untrusted certificate, a name mismatch, or no TLS at all. */
  'tls',
  /** The connection was closed before the response was complete. */
  'reset',
  /** The bytes received are not a valid HTTP response, or exceed the limits. */
  'bad_response',
  /** The client certificate of the endpoint has expired; nothing was sent. */
  'certificate_expired',
  /** There was no connection to the proxy of EGRESS_PROXY, or it closed the connection without a response. */
  'proxy_unreachable',
  /** The proxy did not respond within the time limit, neither to this request nor to another one. */
  'proxy_timeout',
  /** The proxy wants other credentials (407). */
  'proxy_credentials',
  /** The proxy refused to connect to the receiver. */
  'proxy_refused',
  /** The bytes received from the proxy are not a response to CONNECT. */
  'proxy_bad_response',
  /** The source address EGRESS_BIND is not on this machine, or has no free port. */
  'source_address',
  /** The request could not be prepared, and a retry would not help. */
  'unprocessable',
  /** Any other error; the detail carries the runtime's code for it. */
  'failed',
] as const;

export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

/** The receiver responded, with any status. */
export type ResponseOutcome = {
  kind: 'response';
  statusCode: number;
  retryAfter: string | null;
  /** The first bytes of the response body, as text that can be stored and shown. */
  body: string;
  /** Headers of a response that was not a success, one per line, as `storedHeaders` makes them. */
  headers?: string;
  durationMs: number;
};

/** No complete response was received. */
export type ErrorOutcome = {
  kind: 'error';
  error: AttemptError;
  durationMs: number;
  /** For the operator, such as the runtime's error code. */
  detail?: string;
};

export type Outcome = ResponseOutcome | ErrorOutcome;

export type AttemptInput = {
  outcome: Outcome;
  kind: AttemptKind;
  /** The status of the delivery before this attempt. */
  status: DeliveryStatus;
  /** Steps of the schedule used before this attempt. */
  steps: number;
  schedule: readonly number[];
  nowMs: number;
  random: () => number;
};

export type NextState = {
  status: DeliveryStatus;
  steps: number;
  /** Until the next attempt; null when there is none. */
  delayMs: number | null;
  suspend: SuspendReason | null;
};

/** Decides what follows an attempt. First attempts, retries and redeliveries share the rule. */
export function decideNext({ outcome, kind, status, steps, schedule, nowMs, random }: AttemptInput): NextState {
  const used = kind === 'redelivery' ? steps : steps + 1;
  if (isSuccess(outcome)) return { status: 'delivered', steps: used, delayMs: null, suspend: null };
  // Until the suspension puts the delivery on hold, it keeps its place on the schedule, so that a crash in between
  // loses nothing.
  const suspend = statusOf(outcome) === 410 ? 'gone' : null;
  // A failed redelivery changes nothing: the delivery keeps its status and the rest of its schedule.
  if (kind === 'redelivery') return { status, steps: used, delayMs: null, suspend };
  if (isUnprocessable(outcome)) return { status: 'failed', steps: used, delayMs: null, suspend };
  const retryAfterMs = outcome.kind === 'response' ? parseRetryAfter(outcome.retryAfter, nowMs) : null;
  const delayMs = nextDelayMs({ schedule, attemptsMade: used, retryAfterMs, random });
  return { status: delayMs === null ? 'failed' : 'retrying', steps: used, delayMs, suspend };
}

export function isSuccess(outcome: Outcome): boolean {
  const statusCode = statusOf(outcome);
  return statusCode !== null && statusCode >= 200 && statusCode < 300;
}

/**
 * Whether the row of a delivery can store an attempt. It must be the only attempt, and the row has no columns for the
 * kind of a redelivery or for response headers.
 */
export function fitsRecord(
  { attempts, kind }: { readonly attempts: number; readonly kind: AttemptKind },
  outcome: Outcome,
): boolean {
  const hasHeaders = outcome.kind === 'response' && outcome.headers !== undefined;
  return attempts === 0 && kind !== 'redelivery' && !hasHeaders;
}

const UNHEALTHY_ERRORS: readonly AttemptError[] = ['timeout', 'refused', 'unreachable'];
const UNHEALTHY_STATUSES: readonly number[] = [429, 502, 503, 504];

/**
 * Whether the outcome shows that the whole destination is down or overloaded. Other failures concern only one request.
 */
export function showsDestinationUnhealthy(outcome: Outcome): boolean {
  if (outcome.kind === 'error') return UNHEALTHY_ERRORS.includes(outcome.error);
  return UNHEALTHY_STATUSES.includes(outcome.statusCode);
}

const OWN_ERRORS: ReadonlySet<AttemptError> = new Set([
  'proxy_unreachable',
  'proxy_timeout',
  'proxy_credentials',
  'proxy_refused',
  'proxy_bad_response',
  'source_address',
]);

/** Whether the attempt failed on the way out of our own network, which says nothing about the receiver. */
export function isOwnFailure(outcome: Outcome): boolean {
  return outcome.kind === 'error' && OWN_ERRORS.has(outcome.error);
}

function isUnprocessable(outcome: Outcome): boolean {
  return outcome.kind === 'error' && outcome.error === 'unprocessable';
}

function statusOf(outcome: Outcome): number | null {
  return outcome.kind === 'response' ? outcome.statusCode : null;
}
