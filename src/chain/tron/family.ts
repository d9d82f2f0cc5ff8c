import type { EvmHabits } from '../evm/follow/evm-poll.ts';
import { evmIdentity } from '../evm/identity.ts';
import { EvmReader } from '../evm/reader.ts';
import type { Family } from '../family.ts';
import { practiceExchange } from '../practice/practice-exchange.ts';
import type { Dialect } from '../rpc/dialect.ts';
import { RpcFailure } from '../rpc/failures.ts';

/**
 * Tron's nodes speak Ethereum's JSON-RPC, with three differences. They have no safe block. Their final block is the
 * newest block on which 19 of 27 producers have built. The error -32005 means that a call asks for too much.
 */

/** Blocks come every 3 seconds. Providers' free plans count the calls of a day. */
const POLL_MS = 6_000;

const TRON_DIALECT: Dialect = { rateLimitCodes: [429, -32029], readBody };

/** A node that gets too many requests answers with the status 200 and `{"Error": …}`. */
function readBody(body: unknown): RpcFailure | null {
  const isRefusal = typeof body === 'object' && body !== null && 'Error' in body && !('result' in body);
  return isRefusal ? new RpcFailure('rate_limited') : null;
}

const HABITS: EvmHabits = { asksSafe: false, savesCalls: true };

export const TRON: Family = {
  identity: evmIdentity,
  dialect: TRON_DIALECT,
  pollMs: POLL_MS,
  practiceExchange: (networkId) => practiceExchange({ networkId, hasSafe: false }),
  newReader: ({ decoder, isPractice }) => new EvmReader(decoder, HABITS, isPractice),
};
