import { VerificationError } from './verification-error.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/** A key for one signature scheme of Standard Webhooks. */
export type VerifyingKey = {
  readonly scheme: 'v1' | 'v1a';
  readonly isSignature: (signature: Bytes, signed: Bytes) => Promise<boolean>;
};

const SECRET_PREFIX = 'whsec_';
const PUBLIC_KEY_PREFIX = 'whpk_';
const SECRET_MIN_BYTES = 24;
const SECRET_MAX_BYTES = 64;
const PUBLIC_KEY_BYTES = 32;

/** At least one: without a key, nothing could be verified. A setting that is missing is undefined, whatever its type says. */
export async function importKeys(keys: string | readonly string[] | undefined): Promise<VerifyingKey[]> {
  const given = typeof keys === 'string' ? [keys] : (keys ?? []);
  if (given.length === 0) throw new VerificationError('malformed_key', 'no key was given');
  return Promise.all(given.map(importKey));
}

/** A `whsec_` secret verifies scheme `v1`, a `whpk_` public key scheme `v1a`. */
export async function importKey(text: string): Promise<VerifyingKey> {
  const isPublic = text.startsWith(PUBLIC_KEY_PREFIX);
  const bytes = decodeKey(text, isPublic ? PUBLIC_KEY_PREFIX : SECRET_PREFIX);
  const [min, max] = isPublic ? [PUBLIC_KEY_BYTES, PUBLIC_KEY_BYTES] : [SECRET_MIN_BYTES, SECRET_MAX_BYTES];
  // An empty secret is valid base64, and anyone could sign with it.
  if (bytes.length < min || bytes.length > max) {
    throw new VerificationError('malformed_key', `it has ${bytes.length} bytes`);
  }
  return isPublic ? importPublicKey(bytes) : importSecret(bytes);
}

/** `subtle.verify` compares in constant time. */
async function importSecret(bytes: Bytes): Promise<VerifyingKey> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify']);
  return { scheme: 'v1', isSignature: (signature, signed) => crypto.subtle.verify('HMAC', key, signature, signed) };
}

async function importPublicKey(bytes: Bytes): Promise<VerifyingKey> {
  try {
    const key = await crypto.subtle.importKey('raw', bytes, 'Ed25519', false, ['verify']);
    return {
      scheme: 'v1a',
      isSignature: (signature, signed) => crypto.subtle.verify('Ed25519', key, signature, signed),
    };
  } catch (error) {
    throw new VerificationError('unsupported', '', { cause: error });
  }
}

function decodeKey(text: string, prefix: string): Bytes {
  const bytes = text.startsWith(prefix) ? decodeBase64(text.slice(prefix.length)) : null;
  // The text may be a secret, so the message must not contain it.
  if (bytes === null) throw new VerificationError('malformed_key');
  return bytes;
}

/** Strict, so that no two texts decode to the same key or signature. */
export function decodeBase64(text: string): Bytes | null {
  try {
    const binary = atob(text);
    if (btoa(binary) !== text) return null;
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
