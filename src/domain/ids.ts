/** An id is a prefix that names its kind, then a UUIDv7 in hex, so that ids sort by the time of their creation. */
export type IdPrefix = 'ent' | 'key' | 'wh' | 'evt' | 'dlv' | 'sec' | 'aud' | 'rdl' | 'agr' | 'trf';

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
