import { parseNodeUrl } from '../../domain/chain/node-url.ts';
import { RpcFailure } from './failures.ts';
import { JsonDepth } from './json-depth.ts';
import { MAX_BYTES } from './response-size.ts';

/**
 * Sends a JSON-RPC payload to one node and returns its body as JSON. Rejects a body with more than `maxBytes`, or with
 * too deep nesting, before parsing it. Gives up after `timeoutMs`. Rejects only with an `RpcFailure`.
 */
export type Exchange = (payload: unknown, maxBytes?: number, timeoutMs?: number) => Promise<unknown>;

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export type HttpOptions = {
  readonly url: string;
  readonly fetch?: Fetch;
  /** Up to the end of the response. */
  readonly timeoutMs?: number;
  /** `JSON.parse` unless given. */
  readonly parse?: ((text: string) => unknown) | undefined;
  /** The time of day, for a `Retry-After` that names a date. */
  readonly dateMs?: () => number;
};

const TIMEOUT_MS = 10_000;
/** Statuses with which a healthy server may send a JSON-RPC error. */
const REFUSALS_BY_SERVERS: readonly number[] = [500, 501];
/** Limit on the time for which a node can make Paybell wait. */
const MAX_RETRY_AFTER_MS = 600_000;

export function httpExchange(options: HttpOptions): Exchange {
  const { fetch = globalThis.fetch } = options;
  const { url, headers } = targetOf(options.url);
  return async (payload, maxBytes = MAX_BYTES, timeoutMs = options.timeoutMs ?? TIMEOUT_MS) => {
    const connection = new AbortController();
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new RpcFailure('timeout')), timeoutMs);
    const init: RequestInit = {
      method: 'POST',
      headers,
      body: JSON.stringify(payload),
      // A key in the URL must not follow a redirect to another host.
      redirect: 'manual',
      signal: connection.signal,
    };
    try {
      // Races with the timeout in addition to the abort, because a response may ignore the signal.
      return await Promise.race([exchange(fetch, url, init, { ...options, maxBytes }), late.promise]);
    } catch (error) {
      connection.abort();
      throw error instanceof RpcFailure ? error : new RpcFailure('unreachable');
    } finally {
      clearTimeout(timer);
    }
  };
}

type Limits = Pick<HttpOptions, 'dateMs' | 'parse'> & { readonly maxBytes: number };

async function exchange(fetch: Fetch, url: string, init: RequestInit, options: Limits): Promise<unknown> {
  const response = await fetch(url, init);
  const { status } = response;
  if (status === 429) {
    throw new RpcFailure('rate_limited', { retryAfterMs: retryAfterMs(response, (options.dateMs ?? Date.now)()) });
  }
  const isRefusal = (status >= 400 && status < 500) || REFUSALS_BY_SERVERS.includes(status);
  if (status !== 200 && !isRefusal) {
    throw new RpcFailure('http_status', {
      status,
      retryAfterMs: retryAfterMs(response, (options.dateMs ?? Date.now)()),
    });
  }
  const body = parse(await readText(response, options.maxBytes), options.parse);
  if (status === 200 && body !== undefined) return body;
  // Some nodes send a JSON-RPC error with the status 400 or 500.
  if (isRefusal && typeof body === 'object' && body !== null && (Array.isArray(body) || 'error' in body)) return body;
  throw status === 200 ? new RpcFailure('garbage') : new RpcFailure('http_status', { status });
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  if (Number(response.headers.get('content-length') ?? 0) > maxBytes) throw new RpcFailure('too_large');
  const decoder = new TextDecoder();
  const depth = new JsonDepth();
  let text = '';
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new RpcFailure('too_large');
    if (depth.isTooDeepAfter(chunk)) throw new RpcFailure('garbage');
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function parse(text: string, parser: (text: string) => unknown = JSON.parse): unknown {
  try {
    return parser(text);
  } catch {
    return undefined;
  }
}

/** Reads `retry-after`, in seconds or as a date (RFC 9110). Null if it is absent or invalid. */
function retryAfterMs(response: Response, nowMs: number): number | null {
  const text = response.headers.get('retry-after');
  if (text === null) return null;
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs;
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS);
}

/** Turns a name and password in the URL into a header, because `fetch` rejects such a URL. */
function targetOf(text: string): { url: string; headers: Record<string, string> } {
  const target = parseNodeUrl(text);
  if (target === null) throw new TypeError('the URL of a node is not valid');
  const { url, header } = target;
  const headers: Record<string, string> = { 'content-type': 'application/json', accept: 'application/json' };
  if (url.username !== '' || url.password !== '') {
    const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    headers.authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
    url.username = '';
    url.password = '';
  }
  if (header !== null) headers[header.name.toLowerCase()] = header.value;
  return { url: url.href, headers };
}
