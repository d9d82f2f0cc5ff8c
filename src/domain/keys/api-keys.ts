export const PERMISSIONS = [
  'webhooks:read',
  'webhooks:write',
  'secrets:read',
  'secrets:write',
  'events:read',
  'events:write',
  'deliveries:read',
  'deliveries:write',
  'payments:read',
  'invoices:write',
  'audit:read',
  'keys:read',
  'keys:write',
] as const;

export type Permission = (typeof PERMISSIONS)[number];

export function isPermission(name: string): name is Permission {
  const names: readonly string[] = PERMISSIONS;
  return names.includes(name);
}

/** The id of ADMIN_KEY, and the beginning of the ids of ADMIN_KEYS. */
export const OPERATOR = 'operator';

/** The name of ADMIN_KEY is empty. */
export function operatorKeyId(name: string): string {
  return name === '' ? OPERATOR : `${OPERATOR}:${name}`;
}

/** The id of an entity's key begins with `key_`. */
export function isOperator(keyId: string): boolean {
  return keyId.startsWith(OPERATOR);
}

export const KEY_PREFIX = 'pbk_';
const BODY_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SHAPE = new RegExp(`^${KEY_PREFIX}[0-9A-Za-z]{${BODY_LENGTH + CHECKSUM_LENGTH}}$`);

/** 30 base62 characters have 178 random bits. They cannot be guessed, so the database stores only a plain SHA-256. */
export function makeApiKey(randomBytes: (count: number) => Uint8Array, prefix = KEY_PREFIX): string {
  let body = '';
  while (body.length < BODY_LENGTH) {
    for (const byte of randomBytes(BODY_LENGTH)) {
      // 248 is the largest multiple of 62 in a byte. Larger values would make the first characters more likely.
      if (byte < 248 && body.length < BODY_LENGTH) body += ALPHABET.charAt(byte % 62);
    }
  }
  return prefix + body + checksum(body);
}

/** Recognises a mistyped key without a query. Secret scanners can use the same check. */
export function isWellFormedApiKey(key: string): boolean {
  if (!SHAPE.test(key)) return false;
  const bodyEnd = KEY_PREFIX.length + BODY_LENGTH;
  return readNumber(key, bodyEnd) === Bun.hash.crc32(key.slice(KEY_PREFIX.length, bodyEnd));
}

export function hashApiKey(key: string): string {
  return Bun.SHA256.hash(key, 'hex');
}

/** Enough to tell two keys apart in a list, and too little to use one. */
export function lastFour(key: string): string {
  return key.slice(-4);
}

function checksum(body: string): string {
  let rest = Bun.hash.crc32(body);
  let text = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = ALPHABET.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/**
 * The inverse of `checksum`. Every request uses it, because reading a number takes a tenth of the time of writing a
 * text.
 */
function readNumber(key: string, start: number): number {
  let value = 0;
  for (let i = start; i < key.length; i++) value = value * 62 + (VALUES[key.charCodeAt(i)] ?? 0);
  return value;
}

const VALUES = new Uint8Array(128);
for (let value = 0; value < ALPHABET.length; value++) VALUES[ALPHABET.charCodeAt(value)] = value;
