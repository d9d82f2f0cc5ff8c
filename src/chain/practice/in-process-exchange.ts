import type { Exchange } from '../rpc/http-exchange.ts';

/** A node in this process. It answers requests like a real node, without a connection. */

type Request = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };
type Answer = (method: string, params: readonly unknown[]) => unknown;

/** The node answers a request with this error code. */
export class Refused extends Error {
  override readonly name = 'Refused';

  constructor(readonly code: number) {
    super(`refused with ${code}`);
  }
}

/** `atNow` reads the clock, once for all requests of a batch. */
export function inProcessExchange(atNow: () => Answer): Exchange {
  return async (payload) => {
    const answer = atNow();
    const respond = (request: Request) => respondTo(request, answer);
    return Array.isArray(payload) ? (payload as Request[]).map(respond) : respond(payload as Request);
  };
}

function respondTo({ id, method, params }: Request, answer: Answer): object {
  try {
    return { jsonrpc: '2.0', id, result: answer(method, params) };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { jsonrpc: '2.0', id, error: { code: error.code, message: error.message } };
  }
}
