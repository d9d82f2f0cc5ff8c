import { Problem } from '../problems.ts';

/** For a network that the operator has named no node of. */
export function notFollowed(networkId: number): Problem {
  const detail = `Network ${networkId} is not followed. The operator has to name a node of it in the setting CHAIN_RPC.`;
  return new Problem('network_not_followed', detail);
}
