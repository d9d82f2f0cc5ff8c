import { getCACertificates } from 'node:tls';
import type { AttemptError, Outcome } from '../domain/outcome.ts';
import { addressLiteralOf, portOf } from '../domain/post-url.ts';
import { readAnswer } from './answer-body.ts';
import { AttemptFailure, failureOf, isUnconnected } from './network-errors.ts';
import { createTargetGuard, type Resolve } from './target-guard.ts';

/** The part of fetch that is used, so that a test can see what would be dialled without anything being dialled. */
export type Dial = (url: string, init: BunFetchRequestInit) => Promise<Response>;

export interface SenderOptions {
  /** For the whole attempt: look-up, connection, headers and body. */
  timeoutMs: number;
  allowInsecureTargets: boolean;
  userAgent: string;
  /** PEM certificates to trust beside the usual ones. */
  extraCa?: string;
  resolve?: Resolve;
  dial?: Dial;
}

export interface Post {
  postUrl: string;
  headers: Record<string, string>;
  body: string | Uint8Array;
  signal?: AbortSignal;
}

export interface Sender {
  /** Never rejects: whatever happens is an outcome. */
  send(post: Post): Promise<Outcome>;
}

/** More would only spend the attempt's time on a host that is down. */
const MAX_ADDRESSES_TRIED = 3;

const LOWEST_STATUS = 100;

export function createSender(options: SenderOptions): Sender {
  const { timeoutMs, allowInsecureTargets, userAgent, extraCa, resolve, dial = fetch } = options;
  const guard = createTargetGuard({ allowInsecureTargets, ...(resolve && { resolve }) });
  // Joined, since Bun reads it anew for each request: 8.7 k requests/s as one text, 5.6 k as a list (27 k with a single CA).
  const trustedCa = extraCa === undefined ? undefined : [...getCACertificates('default'), extraCa].join('\n');

  const attempt = async (post: Post, signal: AbortSignal) => {
    const url = URL.parse(post.postUrl);
    // Also checked when it was registered, but the settings may have changed since.
    const isAllowed = url?.protocol === 'https:' || (url?.protocol === 'http:' && allowInsecureTargets);
    if (url === null || !isAllowed) throw new AttemptFailure('invalid_url');
    const target = await guard(url, signal);
    if (!target.ok) throw new AttemptFailure(target.error);

    const request = requestFor(url, post, { userAgent, trustedCa, signal });
    const addresses = target.addresses.slice(0, MAX_ADDRESSES_TRIED);
    const answer = await dialFirstReachable(addresses, (address) => dial(urlAt(address, url), request));
    const response = await readAnswer(answer);
    // Bun hands on whatever three digits come, and `000` is no status that anybody could look up.
    if (answer.status < LOWEST_STATUS) throw new AttemptFailure('bad_response', `status ${answer.status}`);
    return { statusCode: answer.status, retryAfter: answer.headers.get('retry-after'), response };
  };

  return {
    async send(post) {
      const startedAtMs = performance.now();
      const durationMs = () => Math.round(performance.now() - startedAtMs);
      const deadline = startDeadline(timeoutMs, post.signal);
      try {
        const answer = await attempt(post, deadline.signal);
        return { kind: 'answered', ...answer, durationMs: durationMs() };
      } catch (thrown) {
        const { error, detail } = deadline.failure() ?? failureOf(thrown);
        return { kind: 'error', error, durationMs: durationMs(), ...(detail !== undefined && { detail }) };
      } finally {
        deadline.clear();
      }
    },
  };
}

interface RequestSettings {
  userAgent: string;
  trustedCa: string | undefined;
  signal: AbortSignal;
}

/** Set by the sender alone. */
const OWN_HEADERS = new Set(['host', 'user-agent']);

function requestFor(url: URL, post: Post, { userAgent, trustedCa, signal }: RequestSettings): BunFetchRequestInit {
  const headers: Record<string, string> = { host: url.host, 'user-agent': userAgent };
  for (const [name, value] of Object.entries(post.headers)) {
    // Under any spelling: two of them would go out as two headers.
    if (!OWN_HEADERS.has(name.toLowerCase())) headers[name] = value;
  }
  const request = { method: 'POST', headers, body: post.body, signal };
  // A redirect or a proxy from the environment would dial an address that nobody has checked, and an answer is never
  // inflated: 10 kB of it can become 10 MB.
  const bounds = { redirect: 'manual', proxy: false, decompress: false } as const;
  if (url.protocol !== 'https:') return { ...request, ...bounds };
  // Said aloud, since NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment would switch verification off.
  const tls = { rejectUnauthorized: true, ...serverNameOf(url), ...(trustedCa && { ca: trustedCa }) };
  return { ...request, ...bounds, tls };
}

/** The name to ask for and to verify; an address has none, and SNI knows no trailing dot. */
function serverNameOf(url: URL): { serverName?: string } {
  return addressLiteralOf(url.hostname) === null ? { serverName: url.hostname.replace(/\.$/, '') } : {};
}

/** The same URL with the checked address in place of the name, so that no second look-up takes place. */
function urlAt(address: string, url: URL): string {
  const host = address.includes(':') ? `[${address}]` : address;
  return `${url.protocol}//${host}:${portOf(url)}${url.pathname}${url.search}`;
}

async function dialFirstReachable(
  addresses: readonly string[],
  dial: (address: string) => Promise<Response>,
): Promise<Response> {
  const [address, ...others] = addresses;
  if (address === undefined) throw new AttemptFailure('dns');
  try {
    return await dial(address);
  } catch (thrown) {
    // A host with an IPv6 address that we have no route to is still there under its IPv4 one.
    if (others.length === 0 || !isUnconnected(thrown)) throw thrown;
    return dialFirstReachable(others, dial);
  }
}

/** One signal for our own deadline and the caller's wish to stop, which remembers which of them it was. */
function startDeadline(timeoutMs: number, callerSignal: AbortSignal | undefined) {
  const controller = new AbortController();
  let cause: AttemptError | null = null;
  const stop = (error: AttemptError) => {
    cause ??= error;
    controller.abort();
  };
  const abort = () => stop('aborted');
  const timer = setTimeout(() => stop('timeout'), timeoutMs);
  callerSignal?.addEventListener('abort', abort, { once: true });
  if (callerSignal?.aborted) abort();
  return {
    signal: controller.signal,
    failure: () => (cause === null ? null : new AttemptFailure(cause)),
    clear() {
      clearTimeout(timer);
      callerSignal?.removeEventListener('abort', abort);
    },
  };
}
