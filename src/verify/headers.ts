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
  const id = readId(headers);
  const timestamp = required(headers, 'webhook-timestamp');
  const signatures = readSignatures(headers, 'webhook-signature');
  if (!/^\d{1,15}$/.test(timestamp))
    throw new VerificationError('malformed_header', 'webhook-timestamp is not a number');
  return { id, timestamp, signatures };
}

export type SequenceHeaders = {
  readonly id: string;
  readonly endpointId: string;
  readonly sequence: string;
  readonly signatures: readonly string[];
};

/** Null for a request without a number: a test request, or an alert. */
export function readSequenceHeaders(headers: ReceivedHeaders): SequenceHeaders | null {
  const names = ['paybell-endpoint', 'paybell-sequence', 'paybell-sequence-signature'];
  if (names.every((name) => isAbsent(find(headers, name)))) return null;
  const endpointId = required(headers, 'paybell-endpoint');
  const sequence = required(headers, 'paybell-sequence');
  const signatures = readSignatures(headers, 'paybell-sequence-signature');
  if (endpointId.includes('.')) throw new VerificationError('malformed_header', 'paybell-endpoint contains a dot');
  if (!/^[1-9]\d{0,15}$/.test(sequence) || !Number.isSafeInteger(Number(sequence)))
    throw new VerificationError('malformed_header', 'paybell-sequence is not a number');
  return { id: readId(headers), endpointId, sequence, signatures };
}

function readId(headers: ReceivedHeaders): string {
  const id = required(headers, 'webhook-id');
  // An id with a dot could end in something that reads as a timestamp: two messages would share a signature.
  if (id.includes('.')) throw new VerificationError('malformed_header', 'webhook-id contains a dot');
  return id;
}

function readSignatures(headers: ReceivedHeaders, name: string): string[] {
  const signatures = required(headers, name).split(' ');
  if (signatures.length > MAX_SIGNATURES) {
    throw new VerificationError('malformed_header', `${name} has more than ${MAX_SIGNATURES} signatures`);
  }
  return signatures;
}

function isAbsent(value: string | readonly string[] | null | undefined): boolean {
  return value === undefined || value === null || value === '';
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
