/** An id is a prefix that names its kind, then a UUIDv7 in hex, so that ids sort by the time of their creation. */
export type IdPrefix =
  | 'ent'
  | 'key'
  | 'wh'
  | 'evt'
  | 'dlv'
  | 'sec'
  | 'aud'
  | 'rdl'
  | 'agr'
  | 'trf'
  | 'ins'
  | 'lst'
  | 'src';

const RANDOM_BYTES = 10;

/** Reused for every id, to allocate nothing. */
const bytes = new Uint8Array(16);

/** Pure: takes the time and the random bytes, so that tests can repeat an id. */
export function makeId(prefix: IdPrefix, nowMs: number, random: Uint8Array): string {
  if (random.length < RANDOM_BYTES) throw new RangeError(`an id needs ${RANDOM_BYTES} random bytes`);
  // Byte by byte, because a DataView with a BigInt took longer than everything else here.
  for (let at = 5, rest = nowMs; at >= 0; at--, rest = Math.floor(rest / 256)) bytes[at] = rest % 256;
  for (let at = 0; at < RANDOM_BYTES; at++) bytes[at + 6] = random[at] ?? 0;
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return `${prefix}_${bytes.toHex()}`;
}

/**
 * Ids of events and deliveries inside the store: 16 bytes, written here as 32 hex digits. An event's number is a UUIDv7
 * whose last 16 bits are zero, and its deliveries are that number plus 1, 2, 3 …: the deliveries of an event are a range
 * of ids, and the time of acceptance can be read from every one of them.
 */

/** So many deliveries have ids that begin with the number of their event. */
export const MAX_DELIVERIES_PER_EVENT = 0xffff;

const INDEX_DIGITS = 4;
const TIME_DIGITS = 12;
const ID = /^[0-9a-f]{32}$/;

/** From the digits of any UUIDv7 to an event's number. */
export function eventNumber(uuidHex: string): string {
  return uuidHex.slice(0, -INDEX_DIGITS) + '0'.repeat(INDEX_DIGITS);
}

/** `index` counts from 1. */
export function deliveryHex(eventNo: string, index: number): string {
  if (index < 1 || index > MAX_DELIVERIES_PER_EVENT) throw new RangeError(`no delivery has the index ${index}`);
  return eventNo.slice(0, -INDEX_DIGITS) + index.toString(16).padStart(INDEX_DIGITS, '0');
}

export function lastDeliveryHex(eventNo: string): string {
  return eventNo.slice(0, -INDEX_DIGITS) + 'f'.repeat(INDEX_DIGITS);
}

export function timeOfHex(hex: string): number {
  return Number.parseInt(hex.slice(0, TIME_DIGITS), 16);
}

/** Sorts before every id of this millisecond and after every id of the one before it. */
export function firstHexAt(ms: number): string {
  const clamped = Math.min(Math.max(Math.floor(ms), 0), 2 ** 48 - 1);
  return clamped.toString(16).padStart(TIME_DIGITS, '0') + '0'.repeat(32 - TIME_DIGITS);
}

/** The digits of `dlv_…` or `evt_…`, or null for a text that no such id has. */
export function hexOfId(prefix: 'dlv' | 'evt' | 'rdl' | 'ent' | 'lst', id: string): string | null {
  const hex = id.startsWith(`${prefix}_`) ? id.slice(prefix.length + 1) : '';
  return ID.test(hex) ? hex : null;
}

/** An endpoint is known to callers by its number, in as many digits as the largest has. */
const ENDPOINT_ID = /^ep_[01][0-9a-f]{13}$/;
const ENDPOINT_DIGITS = 14;

export function endpointId(no: number): string {
  return `ep_${no.toString(16).padStart(ENDPOINT_DIGITS, '0')}`;
}

/** Null for a text that is the id of no endpoint. */
export function endpointNo(id: string): number | null {
  return ENDPOINT_ID.test(id) ? Number.parseInt(id.slice('ep_'.length), 16) : null;
}

/** The digits of an id such as `dlv_…` that is known to have them. */
export function hexIn(id: string): string {
  return id.slice(id.length - 32);
}

/** What fits into the twelve bits behind the time. */
const MAX_WITHIN_MS = 0xfff;
/** Digits of randomness in one number, and how many are drawn at a time. */
const RANDOM_DIGITS = 11;
const DRAWN_BYTES = 1_100;

/** Makes the numbers of events. Of two, the later one sorts later, also within a millisecond and when the clock was set back. */
export class EventNumbers {
  #lastMs = 0;
  #withinMs = 0;
  #drawn = '';
  #used = 0;

  constructor(private readonly fillWithRandom: (bytes: Uint8Array<ArrayBuffer>) => void) {}

  /** By the database's clock. */
  next(nowMs: number): string {
    this.#withinMs = nowMs > this.#lastMs ? 0 : this.#withinMs + 1;
    if (nowMs > this.#lastMs) this.#lastMs = nowMs;
    else if (this.#withinMs > MAX_WITHIN_MS) {
      this.#lastMs++;
      this.#withinMs = 0;
    }
    const time = this.#lastMs.toString(16).padStart(TIME_DIGITS, '0');
    return `${time}7${this.#withinMs.toString(16).padStart(3, '0')}8${this.#random()}0000`;
  }

  #random(): string {
    if (this.#used + RANDOM_DIGITS > this.#drawn.length) {
      const bytes = new Uint8Array(DRAWN_BYTES);
      this.fillWithRandom(bytes);
      this.#drawn = bytes.toHex();
      this.#used = 0;
    }
    this.#used += RANDOM_DIGITS;
    return this.#drawn.slice(this.#used - RANDOM_DIGITS, this.#used);
  }
}
