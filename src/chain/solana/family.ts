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

/** The error -32005 means that the node is not healthy: it has failed, and other nodes are asked. */
const SOLANA_DIALECT: Dialect = { rateLimitCodes: [429, -32029], parse: parseExactly };

/** A node names the hash of its first block, and the setting names a network by its beginning. */
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
