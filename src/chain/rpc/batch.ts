import type { Call } from './call.ts';
import { RpcFailure } from './failures.ts';

export type Outcome = { readonly value: unknown } | { readonly failure: RpcFailure };

/** The outcomes of one batch, each found by its call. */
export class Outcomes {
  constructor(private readonly outcomes: ReadonlyMap<Call<unknown>, Outcome>) {}

  /** The result of the call. Throws the failure if the call failed. */
  value<Result>(call: Call<Result>): Result {
    const outcome = this.outcomes.get(call);
    if (outcome === undefined) throw new RpcFailure('garbage');
    if ('failure' in outcome) throw outcome.failure;
    // The reader of this call has made the value.
    return outcome.value as Result;
  }

  /** The result of the call; null if the call failed. */
  valueOrNull<Result>(call: Call<Result>): Result | null {
    return this.failure(call) === null ? this.value(call) : null;
  }

  failure(call: Call<unknown>): RpcFailure | null {
    const outcome = this.outcomes.get(call);
    return outcome !== undefined && 'failure' in outcome ? outcome.failure : null;
  }
}

type Reply = { readonly id?: unknown; readonly result?: unknown; readonly error?: unknown };

export function payloadOf(calls: readonly Call<unknown>[]): unknown {
  const requests = calls.map(({ method, params }, index) => ({ jsonrpc: '2.0', id: index + 1, method, params }));
  return requests.length === 1 ? requests[0] : requests;
}

/** The failure if the body is one error for the whole batch, as from nodes that take no batches. */
export function errorForAll(body: unknown): RpcFailure | null {
  return isReply(body) && body.error !== undefined ? failureOf(body.error) : null;
}

/**
 * The outcomes of the calls that the body answers. Replies may come in any order. A call whose result has the wrong
 * form has failed. Throws if the body is not an answer to these calls.
 */
export function outcomesOf(calls: readonly Call<unknown>[], body: unknown): Map<Call<unknown>, Outcome> {
  const replies = Array.isArray(body) ? body : [body];
  if (replies.length > calls.length) throw new RpcFailure('garbage');
  const byId = new Map<number, Reply>();
  for (const reply of replies) {
    if (isReply(reply)) byId.set(Number(reply.id), reply);
  }
  if (byId.size === 0 && (calls.length === 1 || !Array.isArray(body))) throw new RpcFailure('garbage');
  return new Map(
    calls.flatMap((call, index): [Call<unknown>, Outcome][] => {
      const reply = byId.get(index + 1);
      return reply === undefined ? [] : [[call, outcomeOf(call, reply)]];
    }),
  );
}

function outcomeOf({ read }: Call<unknown>, reply: Reply): Outcome {
  if (reply.error !== undefined && reply.error !== null) return { failure: failureOf(reply.error) };
  if (reply.result === undefined) return { failure: new RpcFailure('garbage') };
  try {
    return { value: read(reply.result) };
  } catch (error) {
    if (error instanceof RpcFailure) return { failure: error };
    throw error;
  }
}

function failureOf(error: unknown): RpcFailure {
  const code = typeof error === 'object' && error !== null && 'code' in error ? Number(error.code) : Number.NaN;
  return new RpcFailure('rpc_error', Number.isSafeInteger(code) ? { code } : {});
}

function isReply(value: unknown): value is Reply {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && ('result' in value || 'error' in value)
  );
}
