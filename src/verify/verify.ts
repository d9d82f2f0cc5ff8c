import type { PaybellEvent } from './events.ts';
import { type ReceivedHeaders, readHeaders, type SignatureHeaders } from './headers.ts';
import { decodeBase64, importKey, type VerifyingKey } from './keys.ts';
import { VerificationError } from './verification-error.ts';

/** As it came: not parsed, and not written again from what was parsed. */
export type RawBody = string | Uint8Array | ArrayBuffer;

export type VerifyOptions = {
  /** How far the timestamp may be from this machine's clock. */
  readonly toleranceS?: number;
  /** The clock, in Unix seconds; for tests. */
  readonly nowS?: number;
};

const DEFAULT_TOLERANCE_S = 300;

/**
 * The event that a post carries, if it was signed with one of the keys, lately; otherwise a VerificationError that says
 * what is wrong. Keys are `whsec_` secrets, as many as are in force, or the `whpk_` public key.
 */
export async function verify(
  rawBody: RawBody,
  headers: ReceivedHeaders,
  keys: string | readonly string[],
  options: VerifyOptions = {},
): Promise<PaybellEvent> {
  const body = bytesOf(rawBody);
  const imported = await Promise.all((typeof keys === 'string' ? [keys] : keys).map(importKey));
  if (imported.length === 0) throw new VerificationError('malformed_key', 'there is none');
  const received = readHeaders(headers);
  requireFresh(received.timestamp, options);
  await requireMatch(received, signedBytes(received, body), imported);
  return eventIn(body);
}

/** The commonest mistake is to hand over what a framework has parsed: it deserves words of its own. */
function bytesOf(rawBody: unknown): Uint8Array<ArrayBuffer> {
  if (typeof rawBody === 'string') return new TextEncoder().encode(rawBody);
  if (rawBody instanceof ArrayBuffer) return new Uint8Array(rawBody);
  if (ArrayBuffer.isView(rawBody)) {
    return new Uint8Array(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength) as Uint8Array<ArrayBuffer>;
  }
  throw new VerificationError('parsed_body', `it is ${rawBody === null ? 'null' : `of type ${typeof rawBody}`}`);
}

function requireFresh(
  timestamp: string,
  { toleranceS = DEFAULT_TOLERANCE_S, nowS = Date.now() / 1000 }: VerifyOptions,
) {
  const ageS = Math.floor(nowS) - Number(timestamp);
  if (ageS > toleranceS) throw new VerificationError('too_old', `${ageS} s, ${toleranceS} s are allowed`);
  if (ageS < -toleranceS) throw new VerificationError('too_new', `${-ageS} s, ${toleranceS} s are allowed`);
}

async function requireMatch(
  { listed }: SignatureHeaders,
  signed: Uint8Array<ArrayBuffer>,
  keys: readonly VerifyingKey[],
): Promise<void> {
  const signatures = listed.map(parseSignature);
  const pairs = keys.flatMap((key) =>
    signatures.filter(({ scheme }) => scheme === key.scheme).map(({ bytes }) => ({ key, bytes })),
  );
  if (pairs.length === 0) {
    const given = [...new Set(signatures.map(({ scheme }) => scheme))].join(', ');
    const known = [...new Set(keys.map(({ scheme }) => scheme))].join(', ');
    throw new VerificationError('no_common_scheme', `it is ${given}; the keys check ${known}`);
  }
  for (const { key, bytes } of pairs) {
    if (bytes !== null && (await key.isSignature(bytes, signed))) return;
  }
  throw new VerificationError('no_match');
}

function parseSignature(text: string): { scheme: string; bytes: Uint8Array<ArrayBuffer> | null } {
  const [, scheme = 'of no known form', value = ''] = /^(v\d[a-z]?),(.+)$/.exec(text) ?? [];
  return { scheme, bytes: decodeBase64(value) };
}

function signedBytes({ id, timestamp }: SignatureHeaders, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const start = new TextEncoder().encode(`${id}.${timestamp}.`);
  const bytes = new Uint8Array(start.length + body.length);
  bytes.set(start);
  bytes.set(body, start.length);
  return bytes;
}

function eventIn(body: Uint8Array): PaybellEvent {
  const parsed = parse(new TextDecoder().decode(body));
  if (typeof parsed !== 'object' || parsed === null || !('event' in parsed) || typeof parsed.event !== 'string') {
    throw new VerificationError('not_an_event');
  }
  return parsed as PaybellEvent;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new VerificationError('not_an_event', '', { cause: error });
  }
}
