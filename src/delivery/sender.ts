import { getCACertificates } from 'node:tls';
import type { Outcome } from '../domain/attempt.ts';
import { createDial, type Dial } from './http/client.ts';
import { type Deadline, Deadlines } from './http/deadline.ts';
import { AttemptFailure, failureOf, isUnconnected } from './http/errors.ts';
import type { Answer } from './http/response-parser.ts';
import { createTargetGuard, type Resolve } from './ssrf/target-guard.ts';
import { type PostTarget, PostTargets } from './ssrf/url-parts.ts';

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

  const deadlines = new Deadlines(timeoutMs);

  const reach = async (post: Post, deadline: Deadline): Promise<Answer> => {
    const target = targets.find(post.postUrl);
    // Also checked when it was registered, but the settings may have changed since.
    if (target === null || !(target.isSecure || allowInsecureTargets)) throw new AttemptFailure('invalid_url');
    const known = guard(target);
    const checked = known instanceof Promise ? await deadline.within(known) : known;
    if (!checked.ok) throw new AttemptFailure(checked.error);
    const { port, isSecure, serverName } = target;
    const { body } = post;
    const head = headOf(target, post, userAgent);
    let failure: unknown = null;
    for (const address of checked.addresses.slice(0, MAX_ADDRESSES_TRIED)) {
      try {
        return await dial({ peer: { address, port, isSecure, serverName }, head, body }, deadline);
      } catch (thrown) {
        // A host with an IPv6 address that we have no route to is still there under its IPv4 one.
        if (!isUnconnected(thrown)) throw thrown;
        failure = thrown;
      }
    }
    throw failure ?? new AttemptFailure('dns');
  };

  return {
    async send(post) {
      const startedAtMs = performance.now();
      const deadline = deadlines.start();
      try {
        const { status: statusCode, retryAfter, body } = await reach(post, deadline);
        return { kind: 'response', statusCode, retryAfter, body, durationMs: since(startedAtMs) };
      } catch (thrown) {
        const { error, detail } = deadline.isOver ? new AttemptFailure('timeout') : failureOf(thrown);
        return { kind: 'error', error, durationMs: since(startedAtMs), ...(detail !== undefined && { detail }) };
      } finally {
        deadlines.clear(deadline);
      }
    },
  };
}

function since(startedAtMs: number): number {
  return Math.round(performance.now() - startedAtMs);
}

/** Set by the sender alone: two of a kind would be taken by one receiver and refused by another. */
const OWN_HEADERS = new Set(['host', 'user-agent', 'content-length', 'transfer-encoding', 'connection']);
const HEADER_LINE = /^[\w!#$%&'*+.^`|~-]+: [\x20-\x7e]*$/;

/** Neither compression nor a range is asked for: what comes back is read as it is. */
function headOf({ host, path }: PostTarget, { headers, body }: Post, userAgent: string): string {
  let lines = '';
  for (const name in headers) {
    const line = `${name}: ${headers[name]}`;
    if (!HEADER_LINE.test(line)) throw new TypeError(`the header ${name} cannot be sent`);
    if (!OWN_HEADERS.has(name.toLowerCase())) lines += `${line}\r\n`;
  }
  const own = `host: ${host}\r\nuser-agent: ${userAgent}\r\naccept: */*\r\n`;
  return `POST ${path} HTTP/1.1\r\n${own}${lines}content-length: ${Buffer.byteLength(body)}\r\n\r\n`;
}
