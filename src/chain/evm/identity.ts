import type { Identity } from '../rpc/node.ts';
import { chainId } from './rpc/calls.ts';

/** A node of an EVM network names the id of its chain. */
export function evmIdentity(networkId: number): Identity {
  return { call: chainId, isOf: (result) => result === networkId };
}
