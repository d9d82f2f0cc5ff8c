/** Every id says what it names: a prefix, then a UUIDv7 in hex, so that ids made later sort later. */
export type IdPrefix = 'ent' | 'key' | 'wh' | 'evt' | 'dlv' | 'sec' | 'aud' | 'rdl' | 'agr' | 'trf';

const RANDOM_BYTES = 10;

/** Where the next one is put together: one for each id would be garbage in an instant. */
const bytes = new Uint8Array(16);

/** Pure: the clock and the randomness come in, so that a test can make the same id twice. */
export function makeId(prefix: IdPrefix, nowMs: number, random: Uint8Array): string {
  if (random.length < RANDOM_BYTES) throw new RangeError(`an id needs ${RANDOM_BYTES} random bytes`);
  // Byte by byte: a view of the buffer and a big integer took longer than all the rest.
  for (let at = 5, rest = nowMs; at >= 0; at--, rest = Math.floor(rest / 256)) bytes[at] = rest % 256;
  for (let at = 0; at < RANDOM_BYTES; at++) bytes[at + 6] = random[at] ?? 0;
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return `${prefix}_${bytes.toHex()}`;
}
