import { getCACertificates } from 'node:tls';
import type { AttemptError, Outcome } from '../domain/outcome.ts';
import { readAnswer } from './answer-body.ts';
import { AttemptFailure, failureOf, isUnconnected } from './network-errors.ts';
import { type PostTarget, PostTargets, urlAt } from './post-targets.ts';
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

  const targets = new PostTargets();

  const attempt = async (post: Post, signal: AbortSignal, startedAtMs: number): Promise<Outcome> => {
    const target = targets.find(post.postUrl);
    // Also checked when it was registered, but the settings may have changed since.
    if (target === null || !(target.isSecure || allowInsecureTargets)) throw new AttemptFailure('invalid_url');
    const checked = await guard(target.url, signal);
    if (!checked.ok) throw new AttemptFailure(checked.error);

    const request = requestFor(target, post, { userAgent, trustedCa, signal });
    const addresses = checked.addresses.slice(0, MAX_ADDRESSES_TRIED);
    const answer = await dialFirstReachable(addresses, (address) => dial(urlAt(address, target), request));
    const response = await readAnswer(answer);
    // Bun hands on whatever three digits come, and `000` is no status that anybody could look up.
    if (answer.status < LOWEST_STATUS) throw new AttemptFailure('bad_response', `status ${answer.status}`);
    const retryAfter = answer.headers.get('retry-after');
    return { kind: 'answered', statusCode: answer.status, retryAfter, response, durationMs: since(startedAtMs) };
  };

  return {
    async send(post) {
      const startedAtMs = performance.now();
      const deadline = startDeadline(timeoutMs, post.signal);
      try {
        return await attempt(post, deadline.signal, startedAtMs);
      } catch (thrown) {
        const { error, detail } = deadline.failure() ?? failureOf(thrown);
        return { kind: 'error', error, durationMs: since(startedAtMs), ...(detail !== undefined && { detail }) };
      } finally {
        deadline.clear();
      }
    },
  };
}

function since(startedAtMs: number): number {
  return Math.round(performance.now() - startedAtMs);
}

interface RequestSettings {
  userAgent: string;
  trustedCa: string | undefined;
  signal: AbortSignal;
}

/** Set by the sender alone. */
const OWN_HEADERS = new Set(['host', 'user-agent']);

function requestFor(
  { isSecure, host, serverName }: PostTarget,
  post: Post,
  { userAgent, trustedCa, signal }: RequestSettings,
): BunFetchRequestInit {
  const headers: Record<string, string> = { host, 'user-agent': userAgent };
  for (const [name, value] of Object.entries(post.headers)) {
    // Under any spelling: two of them would go out as two headers.
    if (!OWN_HEADERS.has(name.toLowerCase())) headers[name] = value;
  }
  const { body } = post;
  // A redirect or a proxy from the environment would dial an address that nobody has checked, and an answer is never
  // inflated: 10 kB of it can become 10 MB.
  const bounds = { redirect: 'manual', proxy: false, decompress: false } as const;
  if (!isSecure) return { method: 'POST', headers, body, signal, ...bounds };
  // Said aloud, since NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment would switch verification off.
  const tls = {
    rejectUnauthorized: true,
    ...(serverName !== null && { serverName }),
    ...(trustedCa && { ca: trustedCa }),
  };
  return { method: 'POST', headers, body, signal, ...bounds, tls };
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
