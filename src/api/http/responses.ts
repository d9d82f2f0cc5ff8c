import type { z } from 'zod';

/** The formats of responses that all routes share. */

export function json(status: number, value: unknown, headers: Record<string, string> = {}): Response {
  const response = new Response(JSON.stringify(value), { status, headers: JSON_HEADERS });
  for (const name in headers) response.headers.set(name, headers[name] ?? '');
  return response;
}

/** A browser that guesses the type could take a text in a JSON response for HTML. */
export const NO_SNIFF = { 'x-content-type-options': 'nosniff' } as const;

const JSON_TYPE = { 'content-type': 'application/json', ...NO_SNIFF };

// Copying these Headers for each response takes half as long as building them from an object.
const JSON_HEADERS = new Headers({ ...JSON_TYPE, 'cache-control': 'private, no-cache' });
const TAG_HEADERS = new Headers({ vary: 'api-key, entity-id', 'cache-control': 'private, no-cache' });
const TAGGED_JSON_HEADERS = new Headers({ ...JSON_TYPE, ...Object.fromEntries(TAG_HEADERS) });

/**
 * A 128-bit hash of the body, so that different bodies do not have the same tag by chance. It need not be
 * cryptographic, which would cost five times as much, because a client that forged a collision would mislead only
 * itself.
 */
export function etagOf(body: string): string {
  return `"${hashText(body, 1)}${hashText(body, 2)}"`;
}

function hashText(body: string, seed: number): string {
  return Bun.hash(body, seed).toString(36).padStart(13, '0');
}

/** A body and its ETag, and the headers of its response if it is sent more than once. */
export type Tagged = {
  readonly etag: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Headers;
};

/** The responses of `cacheableJson` to a GET, for the OpenAPI document. */
export function taggedResponses(schema: z.ZodType, tag = 'A hash of the body.') {
  return {
    200: { description: 'Ok', schema, headers: { ETag: tag } },
    304: { description: 'The response has not changed since the one whose ETag is in `If-None-Match`.' },
  };
}

/** A response with an ETag, or 304 if the client already has it. */
export function cacheableJson(request: Request, value: unknown): Response {
  const body = JSON.stringify(value);
  return respondTagged(request, { etag: etagOf(body), body });
}

export function respondTagged(request: Request, { etag, body, headers }: Tagged): Response {
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const isKnown = isRead && matches(request.headers.get('if-none-match'), etag);
  const response = isKnown
    ? new Response(null, { status: 304, headers: TAG_HEADERS })
    : new Response(body, { headers: headers ?? TAGGED_JSON_HEADERS });
  if (isKnown || headers === undefined) response.headers.set('etag', etag);
  return response;
}

/** The headers of a body in JSON with this tag. Copying them costs less than setting the tag in each response. */
export function headersOf(etag: string): Headers {
  const headers = new Headers(TAGGED_JSON_HEADERS);
  headers.set('etag', etag);
  return headers;
}

/** The weak comparison that RFC 9110 defines for `If-None-Match`. */
function matches(header: string | null, etag: string): boolean {
  return header !== null && allows(header.replace(/(^|,)\s*W\//g, '$1'), etag);
}

/** The strong comparison that RFC 9110 defines for `If-Match`: a weak tag never matches. */
export function allows(header: string, etag: string): boolean {
  if (header.trim() === '*') return true;
  return header.split(',').some((candidate) => candidate.trim() === etag);
}
