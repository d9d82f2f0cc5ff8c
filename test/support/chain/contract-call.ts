import { readData } from '../../../src/chain/evm/rpc/values.ts';
import type { Call } from '../../../src/chain/rpc/call.ts';

/** Reads the return data of a contract. The call fails with `rpc_error` if the contract reverts. */
export function contractCall(contract: string, data: string): Call<string> {
  return { method: 'eth_call', params: [{ to: contract, data }, 'latest'], read: readData };
}
