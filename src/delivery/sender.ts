import { getCACertificates } from 'node:tls';
import type { AttemptError, Outcome } from '../domain/outcome.ts';
import type { Answer } from './answer-reader.ts';
import { createDial, type Dial } from './dial.ts';
import { AttemptFailure, failureOf, isUnconnected } from './network-errors.ts';
import { type PostTarget, PostTargets } from './post-targets.ts';
import { createTargetGuard, type Resolve } from './target-guard.ts';

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

export function createSender(options: SenderOptions): Sender {
  const { timeoutMs, allowInsecureTargets, userAgent, extraCa, resolve } = options;
  const guard = createTargetGuard({ allowInsecureTargets, ...(resolve && { resolve }) });
  const dial =
    options.dial ?? createDial(extraCa === undefined ? undefined : [...getCACertificates('default'), extraCa]);
  const targets = new PostTargets();

  const attempt = async (post: Post, signal: AbortSignal, startedAtMs: number): Promise<Outcome> => {
    const target = targets.find(post.postUrl);
    // Also checked when it was registered, but the settings may have changed since.
    if (target === null || !(target.isSecure || allowInsecureTargets)) throw new AttemptFailure('invalid_url');
    const checked = await guard(target, signal);
    if (!checked.ok) throw new AttemptFailure(checked.error);

    const { port, isSecure, serverName } = target;
    const { body } = post;
    const head = headOf(target, post, userAgent);
    const addresses = checked.addresses.slice(0, MAX_ADDRESSES_TRIED);
    const { status, ...answer } = await dialFirstReachable(addresses, (address) =>
      dial({ peer: { address, port, isSecure, serverName }, head, body }, signal),
    );
    return {
      kind: 'answered',
      statusCode: status,
      retryAfter: answer.retryAfter,
      response: answer.body,
      durationMs: since(startedAtMs),
    };
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

/** Set by the sender alone: two of a kind would be taken by one receiver and refused by another. */
const OWN_HEADERS = new Set(['host', 'user-agent', 'content-length', 'transfer-encoding', 'connection']);
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const HEADER_VALUE = /^[\x20-\x7e]*$/;

/** Neither compression nor a range is asked for: what comes back is read as it is. */
function headOf({ host, path }: PostTarget, { headers, body }: Post, userAgent: string): string {
  let head = `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nuser-agent: ${userAgent}\r\naccept: */*\r\n`;
  for (const name in headers) {
    const value = headers[name] ?? '';
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value)) throw new TypeError(`the header ${name} cannot be sent`);
    if (!OWN_HEADERS.has(name.toLowerCase())) head += `${name}: ${value}\r\n`;
  }
  return `${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n`;
}

async function dialFirstReachable(
  addresses: readonly string[],
  dial: (address: string) => Promise<Answer>,
): Promise<Answer> {
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
