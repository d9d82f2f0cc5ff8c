import { attemptErrorText } from '../attempt-error-text.ts';
import type { WaitsFor } from './waits-for.ts';

export type TextFormat = {
  /** A point in time since or until which something lasts. */
  readonly at: (seconds: number) => string;
  readonly duration: (ms: number) => string;
  /** Who made a change. */
  readonly actor: (actor: string, name: string | null) => string;
};

/** A busy instance takes a delivery within this time. */
const USUAL_S = 10;

/** Why a delivery waits, in words for the dashboard and the terminal. */
export function waitsForText(waits: WaitsFor, nowS: number, format: TextFormat): string {
  const { kind, dateSince, dateUntil, reason, actor, actorName, deliveryId, requestsPerSecond } = waits;
  const since = dateSince === null ? '' : ` since ${format.at(dateSince)}`;
  switch (kind) {
    case 'paused':
      return `endpoint paused${since}${actor === null ? '' : ` by ${format.actor(actor, actorName)}`}`;
    case 'suspended':
      return `suspended${since} ${reason === 'gone' ? 'after HTTP 410' : 'because all attempts failed'}`;
    case 'order':
      return `waits for ${deliveryId ?? 'an earlier delivery'} of the same order`;
    case 'retry':
      return dateUntil === null || dateUntil <= nowS
        ? 'next attempt due now'
        : `next attempt at ${format.at(dateUntil)}`;
    case 'rate_limit':
      return `rate limit of ${requestsPerSecond} per second, sent by ${format.at(dateUntil ?? nowS)}`;
    case 'receiver':
      return receiverText(waits, nowS, format);
    case 'slot':
      return nowS - (dateSince ?? nowS) < USUAL_S
        ? 'due now'
        : `due for ${format.duration((nowS - (dateSince ?? nowS)) * 1000)}, no free slot`;
  }
}

function receiverText(
  { requests, dateSince, lastStatusCode, lastError }: WaitsFor,
  nowS: number,
  format: TextFormat,
): string {
  const inProgress = requests === null || requests === 0 ? '' : `${countText(requests)} in progress, `;
  const lasts = format.duration(Math.max(0, nowS - (dateSince ?? nowS)) * 1000);
  if (lastStatusCode !== null) return `${inProgress}only HTTP ${lastStatusCode} for ${lasts}`;
  if (lastError !== null && lastError !== 'timeout') {
    return `${inProgress}only failures for ${lasts}: ${attemptErrorText(lastError)}`;
  }
  return `${inProgress}no response for ${lasts}`;
}

function countText(requests: number): string {
  return requests === 1 ? '1 request' : `${requests} requests`;
}
