import { getCACertificates } from 'node:tls';
import { BoundedMap } from '../bounded-map.ts';
import type { EgressProxy } from '../config/egress.ts';
import { isOwnFailure, type Outcome } from '../domain/attempt.ts';
import type { ClientCertificate } from '../domain/endpoints/client-certificate.ts';
import { addressLiteralOf, portOf } from '../domain/post-url.ts';
import { createHttpClient, type HttpClient } from './http/client.ts';
import { type Deadline, Deadlines } from './http/deadline.ts';
import { AttemptFailure, failureOf, isNotConnected } from './http/errors.ts';
import type { HttpResponse } from './http/response-parser.ts';
import { LocalShortageError } from './local-shortage.ts';
import { createTargetGuard, type Resolve } from './ssrf/target-guard.ts';

export interface SenderOptions {
  /** Time limit of the whole attempt: DNS lookup, connection, headers and body. */
  timeoutMs: number;
  allowInsecureTargets: boolean;
  userAgent: string;
  /** PEM certificates to trust in addition to the default ones. */
  extraCa?: string;
  /** The proxy through which all requests go. */
  proxy?: EgressProxy | undefined;
  /** The address from which all connections are made. */
  sourceAddress?: string | undefined;
  /** Connections that are kept open between requests. */
  maxKept?: number | undefined;
  resolve?: Resolve;
  /** Tests replace the client to see the requests that it would send. */
  client?: HttpClient;
}

export interface OutgoingRequest {
  /** The entity of the request. Entities do not share connections. */
  entityId: string;
  postUrl: string;
  /** The client certificate. Requests with different certificates do not share connections. */
  certificate?: ClientCertificate | null;
  headers: Record<string, string>;
  body: string | Uint8Array;
}

export interface Sender {
  /** Returns failures as outcomes. Rejects only with a `LocalShortageError`, before it has sent anything. */
  send(request: OutgoingRequest): Promise<Outcome>;
}

/** More addresses would only spend the attempt's time on a host that is down. */
const MAX_ADDRESSES_TRIED = 3;
const MAX_REMEMBERED_URLS = 10_000;

export function createSender(options: SenderOptions): Sender {
  const { timeoutMs, allowInsecureTargets, userAgent, resolve } = options;
  const guard = createTargetGuard({ allowInsecureTargets, ...(resolve && { resolve }) });
  const { proxy, sourceAddress, maxKept } = options;
  const client =
    options.client ?? createHttpClient({ trustedCa: trustedCaWith(options.extraCa), proxy, sourceAddress, maxKept });
  // The proxy connects from its own address.
  const source = proxy === undefined ? sourceAddress : undefined;
  const targets = new BoundedMap<string, Target | null>(MAX_REMEMBERED_URLS);
  const deadlines = new Deadlines(timeoutMs);

  const targetOf = (postUrl: string): Target | null => {
    const known = targets.get(postUrl);
    if (known !== undefined) return known;
    const target = parseTarget(postUrl, userAgent);
    targets.set(postUrl, target);
    return target;
  };

  const exchange = async (request: OutgoingRequest, deadline: Deadline): Promise<HttpResponse> => {
    const target = targetOf(request.postUrl);
    // Also checked at registration, but the setting may have changed since.
    if (target === null || !(target.isSecure || allowInsecureTargets)) throw new AttemptFailure('invalid_url');
    const guarded = guard(target);
    const checked = guarded instanceof Promise ? await deadline.within(guarded) : guarded;
    if (!checked.ok) throw new AttemptFailure(checked.error);
    const { port, isSecure, serverName } = target;
    const { entityId, certificate = null, body } = request;
    const head = headOf(target, request);
    let failure: unknown = null;
    for (const address of reachableFrom(source, checked.addresses).slice(0, MAX_ADDRESSES_TRIED)) {
      try {
        const peer = { address, port, isSecure, serverName };
        return await client({ entityId, peer, certificate, head, body }, deadline);
      } catch (thrown) {
        // Without a route to a host's IPv6 address, its IPv4 address may still be reachable, and may have a free port.
        if (!isNotConnected(thrown)) throw thrown;
        failure = thrown;
      }
    }
    throw failure ?? new AttemptFailure('unreachable', 'EAFNOSUPPORT');
  };

  return {
    async send(request) {
      const startedAtMs = performance.now();
      const deadline = deadlines.start();
      try {
        const { status: statusCode, retryAfter, headers, body } = await exchange(request, deadline);
        const response = { kind: 'response', statusCode, retryAfter, body, durationMs: since(startedAtMs) } as const;
        return headers === undefined ? response : { ...response, headers };
      } catch (thrown) {
        if (thrown instanceof LocalShortageError) throw thrown;
        const { error, detail } = failureOf(thrown);
        const durationMs = since(startedAtMs);
        const outcome = { kind: 'error', error, durationMs, ...(detail !== undefined && { detail }) } as const;
        return deadline.isReached && !isOwnFailure(outcome) ? { kind: 'error', error: 'timeout', durationMs } : outcome;
      } finally {
        deadlines.clear(deadline);
      }
    },
  };
}

function trustedCaWith(extraCa: string | undefined): string[] | undefined {
  return extraCa === undefined ? undefined : [...getCACertificates('default'), extraCa];
}

/** The addresses of the same family as the source address, which can reach no others. */
function reachableFrom(source: string | undefined, addresses: readonly string[]): readonly string[] {
  return source === undefined
    ? addresses
    : addresses.filter((address) => address.includes(':') === source.includes(':'));
}

function since(startedAtMs: number): number {
  return Math.round(performance.now() - startedAtMs);
}

/** The parts of a URL that a request needs, parsed once for all requests to it. */
type Target = {
  readonly hostname: string;
  /** The address, if the host is one and not a name. */
  readonly literal: string | null;
  readonly port: number;
  readonly isSecure: boolean;
  /** Null for an address. SNI does not allow a trailing dot. */
  readonly serverName: string | null;
  /** The beginning of each head: the request line, and the headers that are the same in all requests. */
  readonly opening: string;
};

/** Null if the text is not an http or https URL. The head asks for no compression, since the response is stored as it is read. */
function parseTarget(postUrl: string, userAgent: string): Target | null {
  const url = URL.parse(postUrl);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return null;
  const literal = addressLiteralOf(url.hostname);
  return {
    hostname: url.hostname,
    literal,
    port: Number(portOf(url)),
    isSecure: url.protocol === 'https:',
    serverName: literal === null ? url.hostname.replace(/\.$/, '') : null,
    opening: `POST ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\nuser-agent: ${userAgent}\r\naccept: */*\r\n`,
  };
}

/** Headers that only the sender sets, because receivers differ in which of two equal headers they take. */
const OWN_HEADERS = new Set(['host', 'user-agent', 'content-length', 'transfer-encoding', 'connection']);
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const UNSENDABLE = /[^\x20-\x7e]/;

/** Endpoints choose header names, but nearly all requests have the same names, so each name is checked once. */
const MAX_REMEMBERED_NAMES = 1_000;
const checkedNames = new BoundedMap<string, NameCheck>(MAX_REMEMBERED_NAMES);
type NameCheck = 'send' | 'skip' | 'invalid';

function checkName(name: string): NameCheck {
  const known = checkedNames.get(name);
  if (known !== undefined) return known;
  const isOwn = OWN_HEADERS.has(name.toLowerCase());
  const check = !HEADER_NAME.test(name) ? 'invalid' : isOwn ? 'skip' : 'send';
  checkedNames.set(name, check);
  return check;
}

function headOf({ opening }: Target, { headers, body }: OutgoingRequest): string {
  let head = opening;
  for (const name in headers) {
    const value = headers[name] ?? '';
    const check = checkName(name);
    if (check === 'invalid' || UNSENDABLE.test(value)) {
      throw new TypeError(`the header ${name} has a name or a value that cannot be sent`);
    }
    if (check === 'send') head += `${name}: ${value}\r\n`;
  }
  return `${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n`;
}
