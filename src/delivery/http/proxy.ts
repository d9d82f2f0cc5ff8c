import { connect, type Socket } from 'node:net';
import { describeProxy, type EgressProxy } from '../../config/egress.ts';
import { codeOf } from '../error-code.ts';
import { fileShortage, type LocalShortageError, shortageIn } from '../local-shortage.ts';
import type { Deadline } from './deadline.ts';
import { AttemptFailure, failureFrom } from './errors.ts';

const MAX_HEAD_BYTES = 8 * 1024;
const OPENING = 'HTTP/1.';
const END_OF_HEAD = '\r\n\r\n';
const STATUS_LINE = /^HTTP\/1\.[01] ([1-5][0-9]{2})(?: [^\r\n]*)?\r\n/;

/** Statuses with which a proxy reports that it could not reach the receiver. They count as failures of the receiver. */
const GATEWAY_STATUSES: readonly number[] = [502, 503, 504];

/** The receiver, by an address that passed the SSRF guard. */
type Target = { readonly address: string; readonly port: number };

/**
 * Opens connections to receivers through the proxy of EGRESS_PROXY. CONNECT names the address that passed the SSRF
 * guard. If it named the host, the proxy would look up the host again and could find another address.
 */
export class EgressTunnels {
  /**
   * When the proxy last responded. If that was after the start of a request that times out, the request waits for its
   * receiver, not for the proxy.
   */
  #lastResponseMs = Number.NEGATIVE_INFINITY;
  readonly name: string;

  constructor(
    private readonly proxy: EgressProxy,
    private readonly sourceAddress: string | null,
  ) {
    this.name = describeProxy(proxy);
  }

  /** Rejects if there is no connection to the receiver. Nothing of a request was sent in that case. */
  open(target: Target, deadline: Deadline): Promise<Socket> {
    const { promise, resolve, reject } = Promise.withResolvers<Socket>();
    const socket = this.#connect();
    const startedAtMs = performance.now();
    let head = '';
    const stopListening = () => {
      deadline.unwatch();
      socket.off('connect', onConnect).off('data', onData).off('error', onError).off('close', onClose);
    };
    const fail = (failure: AttemptFailure | LocalShortageError) => {
      stopListening();
      socket.destroy();
      reject(failure);
    };
    const onConnect = () => void socket.write(this.#requestFor(target));
    const onData = (bytes: Buffer) => {
      this.#lastResponseMs = performance.now();
      head += bytes.toString('latin1');
      const answer = readAnswer(head);
      if (answer instanceof AttemptFailure) fail(answer);
      else if (answer) {
        stopListening();
        resolve(socket);
      }
    };
    const onError = (error: Error) => fail(this.#failureOf(error));
    const onClose = () => fail(new AttemptFailure('proxy_unreachable', 'ECONNRESET'));
    // The listener stays, because an error without one would end the process.
    socket.on('error', () => undefined);
    socket.on('connect', onConnect).on('data', onData).on('error', onError).on('close', onClose);
    deadline.watch((timedOut) => {
      const hasRespondedToOthers = !socket.connecting && this.#lastResponseMs >= startedAtMs;
      fail(hasRespondedToOthers ? timedOut : new AttemptFailure('proxy_timeout'));
    });
    return promise;
  }

  #connect(): Socket {
    const { sourceAddress } = this;
    const { host, port } = this.proxy;
    const source = sourceAddress === null ? {} : { localAddress: sourceAddress, family: familyOf(sourceAddress) };
    // The deadline of the request keeps the process alive; an idle connection must not.
    return connect({ host, port, ...source })
      .setNoDelay(true)
      .unref();
  }

  #requestFor({ address, port }: Target): string {
    const target = `${address.includes(':') ? `[${address}]` : address}:${port}`;
    const { authorization } = this.proxy;
    const credentials = authorization === null ? '' : `proxy-authorization: ${authorization}\r\n`;
    return `CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n${credentials}\r\n`;
  }

  #failureOf(error: Error): AttemptFailure | LocalShortageError {
    const failure = failureFrom(error, this.sourceAddress);
    if (failure.error === 'source_address') return failure;
    // The lookup of the proxy's name fails too if no file can be opened.
    const shortage = shortageIn(error, this.proxy.host) ?? fileShortage();
    return shortage ?? new AttemptFailure('proxy_unreachable', codeOf(error) ?? undefined);
  }
}

function familyOf(address: string): 4 | 6 {
  return address.includes(':') ? 6 : 4;
}

/** Whether the tunnel is open; false until the response is complete. */
function readAnswer(head: string): boolean | AttemptFailure {
  const begins = head.startsWith(OPENING) || OPENING.startsWith(head);
  const end = head.indexOf(END_OF_HEAD);
  if (begins && end === -1 && head.length <= MAX_HEAD_BYTES) return false;
  const status = Number(STATUS_LINE.exec(head)?.[1] ?? Number.NaN);
  if (end === -1 || Number.isNaN(status)) return new AttemptFailure('proxy_bad_response');
  if (status === 407) return new AttemptFailure('proxy_credentials', '407');
  if (GATEWAY_STATUSES.includes(status)) return new AttemptFailure('unreachable', `proxy ${status}`);
  if (status < 200 || status > 299) return new AttemptFailure('proxy_refused', `${status}`);
  // A receiver sends nothing before the request. Bytes after the proxy's head therefore show a connection that cannot be trusted.
  return end + END_OF_HEAD.length === head.length || new AttemptFailure('proxy_bad_response');
}
