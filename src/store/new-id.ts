import { EventNumbers, type IdPrefix, makeId } from '../domain/ids.ts';

/** The largest number in the twelve bits after the time. */
const MAX_WITHIN_MS = 0xfff;

let lastMs = 0;
let withinMs = 0;
const random = new Uint8Array(10);

/**
 * A new id, from the clock and random bytes. Ids of this process sort in the order of creation, even within a
 * millisecond and after the clock was set back, so that the audit shows changes in their order.
 */
export function newId(prefix: IdPrefix): string {
  const nowMs = Date.now();
  withinMs = nowMs > lastMs ? 0 : withinMs + 1;
  if (nowMs > lastMs) lastMs = nowMs;
  else if (withinMs > MAX_WITHIN_MS) {
    lastMs++;
    withinMs = 0;
  }
  crypto.getRandomValues(random);
  random[0] = withinMs >> 8;
  random[1] = withinMs & 0xff;
  return makeId(prefix, lastMs, random);
}

/** Begins again, as in a new process. A simulation runs several times in one process, and its runs must be equal. */
export function restartIds(): void {
  lastMs = 0;
  withinMs = 0;
}

export function randomBytes(count: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(count));
}

/** Numbers the events that this process accepts. */
export const eventNumbers = new EventNumbers(crypto.getRandomValues.bind(crypto));
