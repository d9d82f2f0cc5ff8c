import { RpcFailure } from '../../rpc/failures.ts';

/** A read-only call of a contract's function. */
export type ContractCall = { readonly to: string; readonly data: string; readonly block: number | 'latest' };

/**
 * The result of a call. `reverted`: the contract rejects the call, and would reject it again. `unknown`: the node
 * cannot answer, for example because it has no state of an old block.
 */
export type CallOutcome = { readonly data: string } | { readonly failed: 'reverted' | 'unknown' };

/** Throws if no node responds. The result is unknown then, and the caller must retry. */
export type CallContract = (networkId: number, call: ContractCall) => Promise<CallOutcome>;

/** A call of any method of a network's nodes. Throws an `RpcFailure` if no node responds, or if a node rejects the call. */
export type RpcCall = (networkId: number, method: string, params: readonly unknown[]) => Promise<unknown>;

/**
 * The error code of a revert. Some nodes report a revert under another code, but they use that code for their own
 * faults too, so it proves nothing.
 */
const REVERTED = 3;

export function contractCalls(call: RpcCall): CallContract {
  return async (networkId, { to, data, block }) => {
    const at = block === 'latest' ? block : `0x${block.toString(16)}`;
    try {
      const result = await call(networkId, 'eth_call', [{ to, data }, at]);
      return typeof result === 'string' && /^0x[0-9a-f]*$/i.test(result) ? { data: result } : { failed: 'unknown' };
    } catch (error) {
      if (!(error instanceof RpcFailure) || error.kind !== 'rpc_error') throw error;
      return { failed: error.code === REVERTED ? 'reverted' : 'unknown' };
    }
  };
}
