import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign as signEd25519,
  timingSafeEqual,
  verify as verifyEd25519,
} from 'node:crypto';

/** Standard Webhooks: https://www.standardwebhooks.com. */

const SECRET_PREFIX = 'whsec_';
const SIGNING_KEY_PREFIX = 'whsk_';
const PUBLIC_KEY_PREFIX = 'whpk_';
const SECRET_MIN_BYTES = 24;
const SECRET_MAX_BYTES = 64;
const NEW_SECRET_BYTES = 32;
const ED25519_KEY_BYTES = 32;
const ED25519_SIGNATURE_BYTES = 64;
/** The fixed DER that stands before the 32 bytes of an Ed25519 key (RFC 8410): node:crypto takes no bare ones. */
const PKCS8_ED25519_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI_ED25519_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

const DEFAULT_TOLERANCE_S = 300;
/** Far more than any rotation lists, and few enough that a forged header cannot buy much work. */
const MAX_SIGNATURES = 32;

type Body = Uint8Array | string;

/** Keys parsed once: a signing key takes 31 µs to read beside the 50 µs of a signature, a secret 0.5 beside 1.7. */
export interface SigningKeys {
  readonly secrets: readonly Uint8Array[];
  readonly signingKey: KeyObject | null;
}

export interface Signable {
  id: string;
  timestampS: number;
  body: Body;
}

export interface WebhookHeaders {
  id: string | null | undefined;
  timestamp: string | null | undefined;
  signature: string | null | undefined;
}

export interface VerifyInput {
  headers: WebhookHeaders;
  body: Body;
  secrets?: readonly string[];
  publicKey?: string;
  nowS: number;
  toleranceS?: number;
}

export type VerifyFault = 'missing_header' | 'malformed' | 'too_old' | 'too_new' | 'no_match';
export type Verification = { ok: true } | { ok: false; reason: VerifyFault };

/** The key bytes of a `whsec_` secret; throws when it is not one. */
export function parseSecret(secret: string): Uint8Array {
  const key = decodePrefixed(secret, SECRET_PREFIX);
  // By length, since an empty secret decodes well and would sign with a key that everyone knows.
  if (key.length < SECRET_MIN_BYTES || key.length > SECRET_MAX_BYTES) {
    throw new TypeError(`a ${SECRET_PREFIX} secret holds ${SECRET_MIN_BYTES} to ${SECRET_MAX_BYTES} bytes`);
  }
  return key;
}

/** The private key of a `whsk_` text; throws when it is not one. */
export function parseSigningKey(signingKey: string): KeyObject {
  const bytes = decodePrefixed(signingKey, SIGNING_KEY_PREFIX);
  if (bytes.length !== 2 * ED25519_KEY_BYTES) {
    throw new TypeError(`a ${SIGNING_KEY_PREFIX} key holds a seed and a public key of ${ED25519_KEY_BYTES} bytes each`);
  }
  const key = privateKeyOf(bytes.subarray(0, ED25519_KEY_BYTES));
  if (!publicBytesOf(key).equals(bytes.subarray(ED25519_KEY_BYTES))) {
    throw new TypeError(`the halves of the ${SIGNING_KEY_PREFIX} key do not belong together`);
  }
  return key;
}

export function parseKeys(secrets: readonly string[], signingKey?: string): SigningKeys {
  return {
    secrets: secrets.map(parseSecret),
    signingKey: signingKey === undefined ? null : parseSigningKey(signingKey),
  };
}

/** The `webhook-signature` value: one v1 for each secret, then v1a for the signing key. */
export function sign(input: Signable & { secrets: readonly string[]; signingKey?: string }): string {
  return signWith(parseKeys(input.secrets, input.signingKey), input);
}

export function signWith(keys: SigningKeys, { id, timestampS, body }: Signable): string {
  if (!isDotless(id) || !Number.isSafeInteger(timestampS) || timestampS < 0) {
    throw new TypeError('a signed message has an id without dots and a timestamp in whole seconds');
  }
  const timestamp = String(timestampS);
  const signatures = keys.secrets.map((key) => `v1,${hmacOf(key, id, timestamp, body)}`);
  if (keys.signingKey !== null) {
    const signature = signEd25519(null, signedBytes(id, timestamp, body), keys.signingKey);
    signatures.push(`v1a,${signature.toString('base64')}`);
  }
  return signatures.join(' ');
}

/** Whether the post was signed with one of the keys, lately. Throws only when the caller's own keys are unusable. */
export function verify(input: VerifyInput): Verification {
  const keys = (input.secrets ?? []).map(parseSecret);
  const publicKey = input.publicKey === undefined ? null : parsePublicKey(input.publicKey);
  if (keys.length === 0 && publicKey === null) throw new TypeError('give a secret or a public key to verify with');

  const { id, timestamp, signature } = input.headers;
  if (!id || !timestamp || !signature) return { ok: false, reason: 'missing_header' };
  const listed = signature.split(' ');
  // With dots allowed, the end of an id could be read as a timestamp, and two messages would share a signature.
  if (!isDotless(id) || !/^\d{1,15}$/.test(timestamp) || listed.length > MAX_SIGNATURES) {
    return { ok: false, reason: 'malformed' };
  }
  const toleranceS = input.toleranceS ?? DEFAULT_TOLERANCE_S;
  const ageS = input.nowS - Number(timestamp);
  if (ageS > toleranceS) return { ok: false, reason: 'too_old' };
  if (ageS < -toleranceS) return { ok: false, reason: 'too_new' };

  const expected = keys.map((key) => `v1,${hmacOf(key, id, timestamp, input.body)}`);
  const matches = listed.some(
    (given) =>
      expected.some((text) => equalInConstantTime(text, given)) ||
      (publicKey !== null && isSignedBy(publicKey, given, signedBytes(id, timestamp, input.body))),
  );
  return matches ? { ok: true } : { ok: false, reason: 'no_match' };
}

export function makeSecret(random: Uint8Array): string {
  requireBytes(random, NEW_SECRET_BYTES);
  return SECRET_PREFIX + Buffer.from(random).toString('base64');
}

export function makeSigningKey(seed: Uint8Array): { secretKey: string; publicKey: string } {
  requireBytes(seed, ED25519_KEY_BYTES);
  const publicBytes = publicBytesOf(privateKeyOf(seed));
  return {
    secretKey: SIGNING_KEY_PREFIX + Buffer.concat([seed, publicBytes]).toString('base64'),
    publicKey: PUBLIC_KEY_PREFIX + publicBytes.toString('base64'),
  };
}

/** The older scheme of `BODY_SIGNATURE_HEADER`: it covers the body alone, so it does not stop a replay. */
export function bodySignature(secret: string | Uint8Array, body: Body): string {
  const key = typeof secret === 'string' ? parseSecret(secret) : secret;
  return createHmac('sha256', key).update(body).digest('base64');
}

function hmacOf(key: Uint8Array, id: string, timestamp: string, body: Body): string {
  return new Bun.CryptoHasher('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
}

function signedBytes(id: string, timestamp: string, body: Body): Uint8Array {
  return Buffer.concat([Buffer.from(`${id}.${timestamp}.`), typeof body === 'string' ? Buffer.from(body) : body]);
}

function isDotless(id: string): boolean {
  return id !== '' && !id.includes('.');
}

function isSignedBy(publicKey: KeyObject, given: string, message: Uint8Array): boolean {
  if (!given.startsWith('v1a,')) return false;
  const signature = decodeBase64(given.slice('v1a,'.length));
  if (signature?.length !== ED25519_SIGNATURE_BYTES) return false;
  return verifyEd25519(null, message, publicKey, signature);
}

function equalInConstantTime(expected: string, given: string): boolean {
  const expectedBytes = Buffer.from(expected);
  const givenBytes = Buffer.from(given);
  return expectedBytes.length === givenBytes.length && timingSafeEqual(expectedBytes, givenBytes);
}

function parsePublicKey(publicKey: string): KeyObject {
  const bytes = decodePrefixed(publicKey, PUBLIC_KEY_PREFIX);
  requireBytes(bytes, ED25519_KEY_BYTES);
  return createPublicKey({ key: Buffer.concat([SPKI_ED25519_PREFIX, bytes]), format: 'der', type: 'spki' });
}

function privateKeyOf(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PKCS8_ED25519_PREFIX, seed]), format: 'der', type: 'pkcs8' });
}

function publicBytesOf(privateKey: KeyObject): Buffer {
  const der = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  return der.subarray(SPKI_ED25519_PREFIX.length);
}

function decodePrefixed(text: string, prefix: string): Buffer {
  const bytes = text.startsWith(prefix) ? decodeBase64(text.slice(prefix.length)) : null;
  // The text is a secret, so the message must not repeat it.
  if (bytes === null) throw new TypeError(`expected ${prefix} followed by base64`);
  return bytes;
}

/** Strict: Buffer skips what it does not know, and would read two texts as one key. */
function decodeBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}

function requireBytes(bytes: Uint8Array, length: number): void {
  if (bytes.length !== length) throw new TypeError(`expected ${length} bytes, got ${bytes.length}`);
}
