export const PERMISSIONS = [
  'webhooks:read',
  'webhooks:write',
  'secrets:read',
  'secrets:write',
  'events:read',
  'events:write',
  'deliveries:read',
  'deliveries:write',
  'audit:read',
] as const;

export type Permission = (typeof PERMISSIONS)[number];

const PREFIX = 'pbk_';
const BODY_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${BODY_LENGTH + CHECKSUM_LENGTH}}$`);

/** 30 base62 characters carry 178 random bits, so a plain SHA-256 is enough at rest: there is nothing to guess. */
export function makeApiKey(randomBytes: (count: number) => Uint8Array): string {
  let body = '';
  while (body.length < BODY_LENGTH) {
    for (const byte of randomBytes(BODY_LENGTH)) {
      // 248 is the largest multiple of 62 in a byte: taking more would favour the first letters.
      if (byte < 248 && body.length < BODY_LENGTH) body += ALPHABET.charAt(byte % 62);
    }
  }
  return PREFIX + body + checksum(body);
}

/** Lets a typo, or a secret scanner, be answered without a look at the store. */
export function isWellFormedApiKey(key: string): boolean {
  if (!SHAPE.test(key)) return false;
  const bodyEnd = PREFIX.length + BODY_LENGTH;
  return readNumber(key, bodyEnd) === Bun.hash.crc32(key.slice(PREFIX.length, bodyEnd));
}

export function hashApiKey(key: string): string {
  return Bun.SHA256.hash(key, 'hex');
}

/** What a list may show of a key: enough to tell two apart, too little to use. */
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

/** What `checksum` wrote. Every request has its key checked, and reading a number takes a tenth of writing a text. */
function readNumber(key: string, start: number): number {
  let value = 0;
  for (let i = start; i < key.length; i++) value = value * 62 + (VALUES[key.charCodeAt(i)] ?? 0);
  return value;
}

const VALUES = new Uint8Array(128);
for (let value = 0; value < ALPHABET.length; value++) VALUES[ALPHABET.charCodeAt(value)] = value;
