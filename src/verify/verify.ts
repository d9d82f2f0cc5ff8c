import type { PaybellEvent } from './events.ts';
import { type ReceivedHeaders, readHeaders, type SignatureHeaders } from './headers.ts';
import { importKeys } from './keys.ts';
import { requireMatch } from './signatures.ts';
import { VerificationError } from './verification-error.ts';

/** The bytes as received: not parsed, and not serialized again. */
export type RawBody = string | Uint8Array | ArrayBuffer;

export type VerifyOptions = {
  /** How far the timestamp may differ from the clock of this machine; 300 s by default. */
  readonly toleranceS?: number;
  /** The current time in Unix seconds, for tests. */
  readonly nowS?: number;
};

const DEFAULT_TOLERANCE_S = 300;

/**
 * Returns the event of a request, or throws a VerificationError unless it was signed recently with one of the keys:
 * the active `whsec_` secrets, or the active `whpk_` public keys.
 */
export async function verify(
  rawBody: RawBody,
  headers: ReceivedHeaders,
  keys: string | readonly string[],
  options: VerifyOptions = {},
): Promise<PaybellEvent> {
  const body = bytesOf(rawBody);
  const imported = await importKeys(keys);
  const received = readHeaders(headers);
  requireFresh(received.timestamp, options);
  await requireMatch(received.signatures, signedBytes(received, body), imported);
  return parseEvent(body);
}

/** Passing a body that the framework has parsed is the most common mistake, so it has a separate error. */
function bytesOf(rawBody: unknown): Uint8Array {
  if (typeof rawBody === 'string') return new TextEncoder().encode(rawBody);
  if (rawBody instanceof ArrayBuffer) return new Uint8Array(rawBody);
  if (ArrayBuffer.isView(rawBody)) return new Uint8Array(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength);
  throw new VerificationError('parsed_body', `got ${rawBody === null ? 'null' : typeof rawBody}`);
}

function requireFresh(
  timestamp: string,
  { toleranceS = DEFAULT_TOLERANCE_S, nowS = Date.now() / 1000 }: VerifyOptions,
) {
  // Every comparison with NaN is false, so that a setting that is missing would accept requests of any age.
  if (!(toleranceS >= 0) || !Number.isFinite(nowS)) {
    throw new RangeError('toleranceS must be a number of seconds from 0 on, and nowS a Unix time in seconds');
  }
  const ageS = Math.floor(nowS) - Number(timestamp);
  if (ageS > toleranceS) throw new VerificationError('too_old', `${ageS} s old, ${toleranceS} s allowed`);
  if (ageS < -toleranceS) throw new VerificationError('too_new', `${-ageS} s ahead, ${toleranceS} s allowed`);
}

function signedBytes({ id, timestamp }: SignatureHeaders, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const start = new TextEncoder().encode(`${id}.${timestamp}.`);
  const bytes = new Uint8Array(start.length + body.length);
  bytes.set(start);
  bytes.set(body, start.length);
  return bytes;
}

function parseEvent(body: Uint8Array): PaybellEvent {
  const parsed = parseJson(new TextDecoder().decode(body));
  if (!isEvent(parsed)) throw new VerificationError('not_an_event');
  return parsed;
}

/** Checks only the kind: the sender has signed the payload, so its fields are trusted. */
function isEvent(value: unknown): value is PaybellEvent {
  return typeof value === 'object' && value !== null && 'event' in value && typeof value.event === 'string';
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new VerificationError('not_an_event', '', { cause: error });
  }
}
