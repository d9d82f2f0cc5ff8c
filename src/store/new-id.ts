import { type IdPrefix, makeId } from '../domain/ids.ts';

/** A fresh id, by this machine's clock and randomness. */
export function newId(prefix: IdPrefix): string {
  return makeId(prefix, Date.now(), randomBytes(10));
}

export function randomBytes(count: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(count));
}
