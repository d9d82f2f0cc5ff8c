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
  | 'src'
  | 'inv';

const RANDOM_BYTES = 10;

/** Reused for every id, to allocate nothing. */
const bytes = new Uint8Array(16);

/** A pure function of the time and the random bytes, so that tests can repeat an id. */
export function makeId(prefix: IdPrefix, nowMs: number, random: Uint8Array): string {
  if (random.length < RANDOM_BYTES) throw new RangeError(`an id needs ${RANDOM_BYTES} random bytes`);
  // Writes byte by byte, because a DataView with a BigInt took longer than the rest of this function.
  for (let at = 5, rest = nowMs; at >= 0; at--, rest = Math.floor(rest / 256)) bytes[at] = rest % 256;
  for (let at = 0; at < RANDOM_BYTES; at++) bytes[at + 6] = random[at] ?? 0;
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return `${prefix}_${bytes.toHex()}`;
}

/**
 * Ids of events and deliveries inside the store: 16 bytes, written here as 32 hex digits.
 *
 *   time 12 | version 1 | count within the millisecond 3 | variant 1 | random 5 | round 2 | queue number 8
 *
 * An event's number is a UUIDv7 whose last ten digits are zero. The id of a delivery is a function of its event, round
 * and queue, so that two deliveries of one event to one webhook cannot exist. The deliveries of an event are a range of
 * ids, a round is a narrower range, and every id contains the time of acceptance.
 */

/** The largest number of a webhook, and so the number of changes that an entity can have. */
export const MAX_QUEUE_NO = 0xffff_ffff;
/** A held event gets new deliveries each time its payment returns; all other deliveries are of round 0. */
export const MAX_ROUND = 0xff;

const QUEUE_DIGITS = 8;
const ROUND_DIGITS = 2;
const DELIVERY_DIGITS = ROUND_DIGITS + QUEUE_DIGITS;
const TIME_DIGITS = 12;
const ID = /^[0-9a-f]{32}$/;

/** Turns the digits of a UUIDv7 into the number of an event. */
export function eventNumber(uuidHex: string): string {
  return uuidHex.slice(0, -DELIVERY_DIGITS) + '0'.repeat(DELIVERY_DIGITS);
}

export function deliveryHex(eventNo: string, queueNo: number, round = 0): string {
  if (queueNo < 1 || queueNo > MAX_QUEUE_NO) throw new RangeError(`no queue has the number ${queueNo}`);
  return beginningOf(eventNo, round) + queueNo.toString(16).padStart(QUEUE_DIGITS, '0');
}

export function lastDeliveryHex(eventNo: string): string {
  return eventNo.slice(0, -DELIVERY_DIGITS) + 'f'.repeat(DELIVERY_DIGITS);
}

/** The ids of a round's deliveries are greater than `after` and not greater than `last`. */
export function roundRange(eventNo: string, round: number): { after: string; last: string } {
  const beginning = beginningOf(eventNo, round);
  return { after: beginning + '0'.repeat(QUEUE_DIGITS), last: beginning + 'f'.repeat(QUEUE_DIGITS) };
}

function beginningOf(eventNo: string, round: number): string {
  if (round < 0 || round > MAX_ROUND) throw new RangeError(`no round has the number ${round}`);
  return eventNo.slice(0, -DELIVERY_DIGITS) + round.toString(16).padStart(ROUND_DIGITS, '0');
}

export function roundOfHex(hex: string): number {
  return Number.parseInt(hex.slice(-DELIVERY_DIGITS, -QUEUE_DIGITS), 16);
}

/**
 * Keeps the last time that was read, because many ids in a row have the same time, and a comparison takes a tenth of
 * the time of a read.
 */
let lastTime = { digits: '0'.repeat(TIME_DIGITS), ms: 0 };

export function timeOfHex(hex: string): number {
  if (hex.startsWith(lastTime.digits)) return lastTime.ms;
  const digits = hex.slice(0, TIME_DIGITS);
  const ms = Number.parseInt(digits, 16);
  if (digits.length === TIME_DIGITS) lastTime = { digits, ms };
  return ms;
}

/** Sorts before every id of this millisecond, and after every id of the millisecond before. */
export function firstHexAt(ms: number): string {
  const clamped = Math.min(Math.max(Math.floor(ms), 0), 2 ** 48 - 1);
  return clamped.toString(16).padStart(TIME_DIGITS, '0') + '0'.repeat(32 - TIME_DIGITS);
}

/** The digits of an id such as `dlv_…`, or null for a text that is not such an id. */
export function hexOfId(prefix: 'dlv' | 'evt' | 'rdl' | 'ent' | 'lst', id: string): string | null {
  const hex = id.startsWith(`${prefix}_`) ? id.slice(prefix.length + 1) : '';
  return ID.test(hex) ? hex : null;
}

/** Callers see an endpoint's number, with as many digits as the largest number has. */
const ENDPOINT_ID = /^ep_[01][0-9a-f]{13}$/;
const ENDPOINT_DIGITS = 14;

export function endpointId(no: number): string {
  return `ep_${no.toString(16).padStart(ENDPOINT_DIGITS, '0')}`;
}

/** Null if the text is not the id of an endpoint. */
export function endpointNo(id: string): number | null {
  return ENDPOINT_ID.test(id) ? Number.parseInt(id.slice('ep_'.length), 16) : null;
}

/** The digits of an id such as `dlv_…` that is known to have them. */
export function hexIn(id: string): string {
  return id.slice(id.length - 32);
}

/** The largest count in the twelve bits after the time. */
const MAX_WITHIN_MS = 0xfff;
/**
 * The first count of a millisecond is random and below this limit, so that two instances rarely have the same counts.
 */
const FIRST_WITHIN_MS = 0x800;
/** Random digits in one number, digits of the count, and the number of random bytes to draw at a time. */
const RANDOM_DIGITS = 5;
const COUNT_DIGITS = 3;
const DRAWN_BYTES = 1_000;

/**
 * Makes the numbers of events. A later number sorts later, even within a millisecond and after the clock was set back. Two
 * instances that make the same number for one entity collide in the primary key of `events`, and acceptance repeats.
 */
export class EventNumbers {
  #lastMs = 0;
  #withinMs = 0;
  #drawn = '';
  #used = 0;

  constructor(private readonly fillWithRandom: (bytes: Uint8Array<ArrayBuffer>) => void) {}

  /** `nowMs` is the time of the database's clock. */
  next(nowMs: number): string {
    if (nowMs > this.#lastMs || this.#withinMs === MAX_WITHIN_MS) {
      this.#lastMs = Math.max(nowMs, this.#lastMs + 1);
      this.#withinMs = Number.parseInt(this.#random(COUNT_DIGITS), 16) % FIRST_WITHIN_MS;
    } else this.#withinMs++;
    const time = this.#lastMs.toString(16).padStart(TIME_DIGITS, '0');
    const count = this.#withinMs.toString(16).padStart(COUNT_DIGITS, '0');
    return `${time}7${count}8${this.#random(RANDOM_DIGITS)}${'0'.repeat(DELIVERY_DIGITS)}`;
  }

  #random(digits: number): string {
    if (this.#used + digits > this.#drawn.length) {
      const bytes = new Uint8Array(DRAWN_BYTES);
      this.fillWithRandom(bytes);
      this.#drawn = bytes.toHex();
      this.#used = 0;
    }
    this.#used += digits;
    return this.#drawn.slice(this.#used - digits, this.#used);
  }
}
