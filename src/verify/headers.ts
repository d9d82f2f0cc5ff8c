import { VerificationError } from './verification-error.ts';

/** As `fetch` gives them (`Headers`) or as Node does (a plain object). */
export type ReceivedHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export type SignatureHeaders = { readonly id: string; readonly timestamp: string; readonly listed: readonly string[] };

/** Far more than any rotation lists, and few enough that a forged header cannot buy much work. */
const MAX_SIGNATURES = 32;

export function readHeaders(headers: ReceivedHeaders): SignatureHeaders {
  const id = required(headers, 'webhook-id');
  const timestamp = required(headers, 'webhook-timestamp');
  const listed = required(headers, 'webhook-signature').split(' ');
  // With dots allowed, the end of an id could be read as a timestamp, and two messages would share a signature.
  if (id.includes('.')) throw new VerificationError('malformed_header', 'webhook-id has a dot');
  if (!/^\d{1,15}$/.test(timestamp)) throw new VerificationError('malformed_header', 'webhook-timestamp is no number');
  if (listed.length > MAX_SIGNATURES) {
    throw new VerificationError('malformed_header', `webhook-signature lists more than ${MAX_SIGNATURES}`);
  }
  return { id, timestamp, listed };
}

function required(headers: ReceivedHeaders, name: string): string {
  const value = find(headers, name);
  if (value === undefined || value === null || value === '') throw new VerificationError('missing_header', name);
  if (typeof value !== 'string') throw new VerificationError('malformed_header', `${name} came more than once`);
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
