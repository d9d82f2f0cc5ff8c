import type { AttemptError, Outcome } from './outcome.ts';
import { nextDelayMs, parseRetryAfter } from './retry.ts';

export const DELIVERY_STATUSES = ['pending', 'retrying', 'delivered', 'failed', 'held', 'cancelled'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

export const ATTEMPT_KINDS = ['first', 'retry', 'redelivery', 'test'] as const;
export type AttemptKind = (typeof ATTEMPT_KINDS)[number];

/** Why a webhook was taken out of service. */
export type SuspendReason = 'gone' | 'failing';

/** So long without one success, while attempts are made, and nobody is listening any more. */
export const SUSPEND_AFTER_MS = 5 * 24 * 3_600_000;

export type AttemptInput = {
  outcome: Outcome;
  kind: AttemptKind;
  /** Where the delivery stood before this attempt. */
  status: DeliveryStatus;
  /** Steps of the schedule used up before this attempt. */
  steps: number;
  schedule: readonly number[];
  nowMs: number;
  random: () => number;
};

export type NextState = {
  status: DeliveryStatus;
  steps: number;
  /** How long until the next attempt; null when there is none to come. */
  delayMs: number | null;
  suspend: SuspendReason | null;
};

/** What becomes of a delivery after an attempt: first try, retry and redelivery alike. */
export function decideNext({ outcome, kind, status, steps, schedule, nowMs, random }: AttemptInput): NextState {
  const used = kind === 'redelivery' ? steps : steps + 1;
  if (isSuccess(outcome)) return { status: 'delivered', steps: used, delayMs: null, suspend: null };
  // The delivery itself waits like any other: suspending holds it, and a crash in between loses nothing.
  const suspend = statusOf(outcome) === 410 ? 'gone' : null;
  // A redelivery that fails undoes nothing, and what was still on the schedule stays on it.
  if (kind === 'redelivery') return { status, steps: used, delayMs: null, suspend };
  if (isUnprocessable(outcome)) return { status: 'failed', steps: used, delayMs: null, suspend };
  const retryAfterMs = outcome.kind === 'answered' ? parseRetryAfter(outcome.retryAfter, nowMs) : null;
  const delayMs = nextDelayMs({ schedule, attemptsMade: used, retryAfterMs, random });
  return { status: delayMs === null ? 'failed' : 'retrying', steps: used, delayMs, suspend };
}

export function isSuccess(outcome: Outcome): boolean {
  const statusCode = statusOf(outcome);
  return statusCode !== null && statusCode >= 200 && statusCode < 300;
}

const UNHEALTHY_ERRORS: readonly AttemptError[] = ['timeout', 'refused', 'unreachable'];
const UNHEALTHY_STATUSES: readonly number[] = [429, 502, 503, 504];

/** Says of the whole destination that it is down or wants less, where another answer speaks of one post only. */
export function showsDestinationUnhealthy(outcome: Outcome): boolean {
  if (outcome.kind === 'error') return UNHEALTHY_ERRORS.includes(outcome.error);
  return UNHEALTHY_STATUSES.includes(outcome.statusCode);
}

function isUnprocessable(outcome: Outcome): boolean {
  return outcome.kind === 'error' && outcome.error === 'unprocessable';
}

function statusOf(outcome: Outcome): number | null {
  return outcome.kind === 'answered' ? outcome.statusCode : null;
}
