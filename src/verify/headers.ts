import { VerificationError } from './verification-error.ts';

/** `Headers`, as in `fetch`, or a plain object, as in Node. */
export type ReceivedHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export type SignatureHeaders = {
  readonly id: string;
  readonly timestamp: string;
  readonly signatures: readonly string[];
};

/** More than any rotation lists, and few enough to limit the work that a forged header causes. */
const MAX_SIGNATURES = 32;

export function readHeaders(headers: ReceivedHeaders): SignatureHeaders {
  const id = required(headers, 'webhook-id');
  const timestamp = required(headers, 'webhook-timestamp');
  const signatures = required(headers, 'webhook-signature').split(' ');
  // An id with a dot could end in something that reads as a timestamp: two messages would share a signature.
  if (id.includes('.')) throw new VerificationError('malformed_header', 'webhook-id contains a dot');
  if (!/^\d{1,15}$/.test(timestamp))
    throw new VerificationError('malformed_header', 'webhook-timestamp is not a number');
  if (signatures.length > MAX_SIGNATURES) {
    throw new VerificationError('malformed_header', `webhook-signature has more than ${MAX_SIGNATURES} signatures`);
  }
  return { id, timestamp, signatures };
}

function required(headers: ReceivedHeaders, name: string): string {
  const value = find(headers, name);
  if (value === undefined || value === null || value === '') throw new VerificationError('missing_header', name);
  if (typeof value !== 'string') throw new VerificationError('malformed_header', `${name} occurs more than once`);
  return value;
}

function find(headers: ReceivedHeaders, name: string): string | readonly string[] | null | undefined {
  if (isHeaders(headers)) return headers.get(name);
  const key = Object.keys(headers).find((candidate) => candidate.toLowerCase() === name);
  return key === undefined ? undefined : headers[key];
}

function isHeaders(headers: ReceivedHeaders): headers is { get(name: string): string | null } {
  return typeof headers.get === 'function';
}
