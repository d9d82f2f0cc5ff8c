/** CORS: browsers can call the API only from the origins in `CORS_ORIGINS`, and by default from none. */

const EXPOSED = 'etag, ratelimit, ratelimit-policy, retry-after, x-request-id';
const REQUEST_HEADERS =
  'api-key, entity-id, content-type, if-match, if-none-match, last-event-id, traceparent, tracestate';
const PREFLIGHT_SECONDS = '600';

export function isPreflight(request: Request, origins: ReadonlySet<string>): boolean {
  return request.method === 'OPTIONS' && origins.has(request.headers.get('origin') ?? '');
}

export function preflight(allow: string): Response {
  return new Response(null, {
    status: 204,
    headers: {
      allow,
      'access-control-allow-methods': allow,
      'access-control-allow-headers': REQUEST_HEADERS,
      'access-control-max-age': PREFLIGHT_SECONDS,
    },
  });
}

export function allowCrossOrigin(request: Request, response: Response, origins: ReadonlySet<string>): void {
  response.headers.append('vary', 'origin');
  const origin = request.headers.get('origin');
  if (origin === null || !origins.has(origin)) return;
  response.headers.set('access-control-allow-origin', origin);
  response.headers.set('access-control-expose-headers', EXPOSED);
}
