import { type IdPrefix, makeId } from '../domain/ids.ts';

/** What fits into the twelve bits behind the time. */
const MAX_WITHIN_MS = 0xfff;

let lastMs = 0;
let withinMs = 0;
const random = new Uint8Array(10);

/**
 * A fresh id, by this machine's clock and randomness. Of two made here the later sorts later, also within one
 * millisecond and when the clock steps back, so that the audit shows a change after the one it followed.
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

export function randomBytes(count: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(count));
}
