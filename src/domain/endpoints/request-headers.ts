/** The fixed headers that an endpoint's requests carry for the receiver's gateway, such as `authorization`. */

export const MAX_HEADERS = 10;
const MAX_HEADER_NAME_LENGTH = 64;
export const MAX_HEADER_VALUE_BYTES = 8 * 1024;
/** Limit for all names and values together. Most servers reject a request with more. */
export const MAX_HEADERS_BYTES = 16 * 1024;

/** A token of RFC 9110, in the characters that all servers and gateways take. */
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?$/;
/** Visible ASCII, with spaces and tabs between. */
const VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/**
 * Names that Paybell or the connection sets. A second header of the same name would break the request or be misread.
 */
const RESERVED_PREFIX = /^(?:webhook|paybell|content|proxy|sec)-/;
const RESERVED_NAMES = new Set(
  'accept accept-encoding connection date expect host keep-alive te trailer transfer-encoding upgrade user-agent'.split(
    ' ',
  ),
);

/**
 * The same text for names that a receiver may read as one header. CGI, WSGI and many proxies turn both `-` and `_` into
 * `_`.
 */
export function headerKey(name: string): string {
  return name.toLowerCase().replaceAll('_', '-');
}

/** Returns an error for the name, or null. `signatureHeader` is the setting `BODY_SIGNATURE_HEADER`. */
export function headerNameError(name: string, signatureHeader: string | undefined): string | null {
  if (name.length > MAX_HEADER_NAME_LENGTH || !NAME.test(name)) {
    return `must have a name of 1 to ${MAX_HEADER_NAME_LENGTH} letters, digits, - or _`;
  }
  const key = headerKey(name);
  if (RESERVED_PREFIX.test(key) || RESERVED_NAMES.has(key) || key === signatureHeader) {
    return 'is a header that Paybell or HTTP itself sets; choose another name';
  }
  return null;
}

export function headerValueError(value: string): string | null {
  if (value.length > MAX_HEADER_VALUE_BYTES) return `must have at most ${MAX_HEADER_VALUE_BYTES} bytes`;
  if (VALUE.test(value)) return null;
  return 'must be visible ASCII characters with spaces between, without line breaks';
}

/** Names in lower case, as they are sent. */
export type RequestHeaders = Readonly<Record<string, string>>;

/** A null removes the header of that name, and a value replaces it. Other headers stay. */
export function mergeHeaders(before: RequestHeaders, changes: Readonly<Record<string, string | null>>): RequestHeaders {
  const changed = new Set(Object.keys(changes).map(headerKey));
  const merged = new Map(Object.entries(before).filter(([name]) => !changed.has(headerKey(name))));
  for (const [name, value] of Object.entries(changes)) {
    if (value !== null) merged.set(name.toLowerCase(), value);
  }
  return Object.fromEntries([...merged].sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function bytesOf(headers: RequestHeaders): number {
  return Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
}
