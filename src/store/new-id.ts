import { type IdPrefix, makeId } from '../domain/ids.ts';

/** What fits into the twelve bits behind the time. */
const MAX_WITHIN_MS = 0xfff;

let lastMs = 0;
let withinMs = 0;

/**
 * A fresh id, by this machine's clock and randomness. Of two made here the later sorts later, also within one
 * millisecond and when the clock steps back, so that the audit shows a change after the one it followed.
 */
export function newId(prefix: IdPrefix): string {
  const nowMs = Date.now();
  if (nowMs > lastMs) [lastMs, withinMs] = [nowMs, 0];
  else if (++withinMs > MAX_WITHIN_MS) [lastMs, withinMs] = [lastMs + 1, 0];
  const bytes = randomBytes(10);
  bytes[0] = withinMs >> 8;
  bytes[1] = withinMs & 0xff;
  return makeId(prefix, lastMs, bytes);
}

export function randomBytes(count: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(count));
}
