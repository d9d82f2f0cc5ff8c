import { genesisOf } from '../../domain/chain/families/solana.ts';
import type { Family } from '../family.ts';
import type { Dialect } from '../rpc/dialect.ts';
import type { Identity } from '../rpc/node.ts';
import { POLL_MS } from './follow/solana-poll.ts';
import { practiceExchange } from './practice/practice-exchange.ts';
import { SolanaReader } from './reader.ts';
import { genesisHash } from './rpc/calls.ts';
import { parseExactly } from './rpc/values.ts';
import { SolanaTools } from './source-tools.ts';

/**
 * On Solana, the error -32005 is not a rate limit. It means that the node is unhealthy, so Paybell asks other nodes.
 */
const SOLANA_DIALECT: Dialect = { rateLimitCodes: [429, -32029], parse: parseExactly };

/** Compares the hash of the node's first block with the known beginning of the network's hash. */
function identity(networkId: number): Identity {
  const genesis = genesisOf(networkId);
  return { call: genesisHash, isOf: (result) => typeof result === 'string' && result.startsWith(genesis) };
}

export const SOLANA: Family = {
  identity,
  dialect: SOLANA_DIALECT,
  pollMs: POLL_MS,
  practiceExchange,
  newReader: ({ isPractice }) => new SolanaReader(isPractice),
  newTools: (parts) => new SolanaTools(parts),
};
