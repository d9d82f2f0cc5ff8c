/** Headers of requests and responses, as they are stored and shown. Values that may be credentials are masked. */

export type ShownHeader = { readonly name: string; readonly value: string };

export const MASKED = '***';
/** Limit for the names and values of one response. */
export const MAX_RESPONSE_HEADERS_BYTES = 1_024;

const SENSITIVE = /cookie|authori[sz]|authenticat|token|secret|password|credential|session|signature|api-?key/i;

/** One line for each header, as many as fit. Null for a response without headers. */
export function storedHeaders(lines: readonly string[]): string | null {
  let stored = '';
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = SENSITIVE.test(name) ? MASKED : line.slice(colon + 1).trim();
    const shown = `${stored === '' ? '' : '\n'}${name}: ${value}`;
    if (Buffer.byteLength(stored) + Buffer.byteLength(shown) > MAX_RESPONSE_HEADERS_BYTES) break;
    stored += shown;
  }
  return stored === '' ? null : stored;
}

export function headersFrom(stored: string): ShownHeader[] {
  return stored.split('\n').map((line) => {
    const colon = line.indexOf(': ');
    return { name: line.slice(0, colon), value: line.slice(colon + 2) };
  });
}

/** The values from which the headers of a request are derived. */
export type RequestFacts = {
  readonly deliveryId: string;
  readonly eventId: string;
  readonly postUrl: string;
  readonly startedAtMs: number;
  readonly bodyBytes: number;
  readonly endpointId: string | null;
  readonly sequence: number | null;
  readonly userAgent: string;
  /** The names of the fixed headers that the endpoint has now. */
  readonly headerNames: readonly string[];
  readonly bodySignatureHeader: string | undefined;
};

/**
 * The headers of one attempt, in the order in which they were sent. They are not stored, because they can be derived
 * from the other data.
 */
export function requestHeadersOf(facts: RequestFacts): ShownHeader[] {
  const { endpointId, sequence, bodySignatureHeader } = facts;
  const headers: Record<string, string> = {
    host: URL.parse(facts.postUrl)?.host ?? '',
    'user-agent': facts.userAgent,
    accept: '*/*',
    ...Object.fromEntries(facts.headerNames.map((name) => [name, MASKED])),
    'content-type': 'application/json',
    'webhook-id': facts.deliveryId,
    'webhook-timestamp': String(Math.floor(facts.startedAtMs / 1000)),
    'webhook-signature': MASKED,
    'paybell-event-id': facts.eventId,
  };
  if (endpointId !== null && sequence !== null) {
    headers['paybell-endpoint'] = endpointId;
    headers['paybell-sequence'] = String(sequence);
    headers['paybell-sequence-signature'] = MASKED;
  }
  if (bodySignatureHeader !== undefined) headers[bodySignatureHeader] = MASKED;
  headers['content-length'] = String(facts.bodyBytes);
  return Object.entries(headers).map(([name, value]) => ({ name, value }));
}
