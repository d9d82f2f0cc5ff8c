/**
 * Why a node gave no usable response.
 *
 * | kind           | meaning                                                               |
 * |----------------|-----------------------------------------------------------------------|
 * | `unreachable`  | there was no connection, or it broke                                  |
 * | `timeout`      | there was no whole response in time                                   |
 * | `http_status`  | the status was not 200, and the body was no JSON-RPC                  |
 * | `rate_limited` | 429, or the JSON-RPC codes for it                                     |
 * | `too_large`    | the response has more bytes than are read                             |
 * | `garbage`      | the response was not JSON, nested too deeply, or not what was asked   |
 * | `wrong_chain`  | the node is on another network                                        |
 * | `rpc_error`    | the node understood the call and refused it                           |
 */
export const FAILURE_KINDS = [
  'unreachable',
  'timeout',
  'http_status',
  'rate_limited',
  'too_large',
  'garbage',
  'wrong_chain',
  'rpc_error',
] as const;

export type FailureKind = (typeof FAILURE_KINDS)[number];

type Details = {
  readonly status?: number;
  /** The code of a JSON-RPC error. */
  readonly code?: number;
  /** How long the node asked Paybell to wait. */
  readonly retryAfterMs?: number | null;
};

/** Has no cause, and quotes no text of the node. Either could contain the node's URL, and the URL may contain a key. */
export class RpcFailure extends Error {
  override readonly name = 'RpcFailure';
  readonly status: number | null;
  readonly code: number | null;
  readonly retryAfterMs: number | null;

  constructor(
    readonly kind: FailureKind,
    { status, code, retryAfterMs }: Details = {},
  ) {
    super(`A node failed: ${kind}${status === undefined ? '' : ` ${status}`}${code === undefined ? '' : ` ${code}`}`);
    this.status = status ?? null;
    this.code = code ?? null;
    this.retryAfterMs = retryAfterMs ?? null;
  }
}

/** Whether a failure is a rate limit by the codes of a dialect. */
export function isRateLimit({ kind, code }: RpcFailure, codes: readonly number[]): boolean {
  return kind === 'rate_limited' || (kind === 'rpc_error' && code !== null && codes.includes(code));
}

/**
 * Statuses with which providers refuse a batch. Other statuses mean that the node, or a proxy before it, is down or
 * overloaded.
 */
const BATCH_REFUSALS: readonly number[] = [400, 403, 405, 413, 422, 500, 501];

/** Whether a batch may have failed because of its size. Some nodes then drop the connection. */
export function mayRefuseBatch({ kind, status }: RpcFailure): boolean {
  return kind === 'unreachable' || (kind === 'http_status' && status !== null && BATCH_REFUSALS.includes(status));
}

/** The code for each answer that did not fit into the node's limit for a batch. */
const RESPONSE_TOO_LARGE = -32003;

export function isWithoutRoom({ kind, code }: RpcFailure): boolean {
  return kind === 'rpc_error' && code === RESPONSE_TOO_LARGE;
}
