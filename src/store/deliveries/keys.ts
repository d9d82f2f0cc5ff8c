import { BoundedMap } from '../../bounded-map.ts';
import { hexOfId } from '../../domain/ids.ts';
import type { Dialect, SqlUuid } from '../database/database.ts';

/** From the ids that callers see to the 16 bytes that the tables of deliveries are keyed by. */

const MAX_KEYS = 10_000;
const keys = { uuid: new BoundedMap<string, SqlUuid>(MAX_KEYS), blob: new BoundedMap<string, SqlUuid>(MAX_KEYS) };

/** Every entity that Paybell makes has such an id; any other text is hashed, so that each has exactly one key. */
export function entityKey({ uuid, bindUuid }: Dialect, entityId: string): SqlUuid {
  const known = keys[uuid].get(entityId);
  if (known !== undefined) return known;
  const key = bindUuid(hexOfId('ent', entityId) ?? hash128(entityId));
  keys[uuid].set(entityId, key);
  return key;
}

/** The key under which the event ids that callers choose are unique. */
export function eventIdKey({ bindUuid }: Dialect, eventId: string): SqlUuid {
  return bindUuid(hash128(eventId));
}

/** The digits of an id such as `dlv_…` that is known to have them. */
export function hexIn(id: string): string {
  return id.slice(id.length - 32);
}

function hash128(text: string): string {
  return Bun.SHA256.hash(text, 'hex').slice(0, 32);
}

let lastMs = 0;
let withinMs = 0;

/** What fits into the twelve bits behind the time. */
const MAX_WITHIN_MS = 0xfff;
/** Digits of randomness in one number, and how many are drawn at a time. */
const RANDOM_DIGITS = 11;
const DRAWN_BYTES = 1_100;
let drawn = '';
let used = 0;

/**
 * The number of an event that is accepted now, by the database's clock: a UUIDv7 whose last 16 bits are zero. Of two made
 * in this process the later one sorts later, also within a millisecond and when the clock was set back.
 */
export function newEventNumber(nowMs: number): string {
  withinMs = nowMs > lastMs ? 0 : withinMs + 1;
  if (nowMs > lastMs) lastMs = nowMs;
  else if (withinMs > MAX_WITHIN_MS) {
    lastMs++;
    withinMs = 0;
  }
  if (used + RANDOM_DIGITS > drawn.length) {
    drawn = crypto.getRandomValues(new Uint8Array(DRAWN_BYTES)).toHex();
    used = 0;
  }
  const random = drawn.slice(used, used + RANDOM_DIGITS);
  used += RANDOM_DIGITS;
  return `${lastMs.toString(16).padStart(12, '0')}7${withinMs.toString(16).padStart(3, '0')}8${random}0000`;
}
