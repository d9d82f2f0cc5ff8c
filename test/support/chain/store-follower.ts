import type { LogDecoder } from '../../../src/chain/evm/decode/decoder.ts';
import { evmIdentity } from '../../../src/chain/evm/identity.ts';
import { EvmReader } from '../../../src/chain/evm/reader.ts';
import { Follower } from '../../../src/chain/follow/follower.ts';
import type { Exchange } from '../../../src/chain/rpc/http-exchange.ts';
import { Node } from '../../../src/chain/rpc/node.ts';
import { Nodes } from '../../../src/chain/rpc/nodes.ts';
import { findEntries } from '../../../src/store/chain/addresses/books.ts';
import { NetworkStore } from '../../../src/store/chain/networks.ts';
import { FollowedSources } from '../../../src/store/chain/sources/followed.ts';
import type { Database } from '../../../src/store/database/database.ts';
import type { Random } from '../random.ts';
import { testDecoder } from './logs.ts';
import type { ModelChain, ModelTransaction } from './model-chain.ts';

type StoreFollowerOptions = {
  readonly networkId: number;
  /** The nodes by their names. */
  readonly exchanges: Readonly<Record<string, Exchange>>;
  readonly nowMs: () => number;
  readonly holder?: string;
  /** For followers that share what they have read of the sources. */
  readonly sources?: FollowedSources;
  readonly decoder?: LogDecoder;
  readonly stepChanges?: number;
};

/** Follows the sources of a store on nodes of an EVM network, by the clock of the test. */
export function storeFollower(db: Database, options: StoreFollowerOptions): Follower {
  const { networkId, nowMs, holder = 'one', sources = new FollowedSources(), stepChanges = 2 } = options;
  const { decoder = testDecoder(undefined, (id, addresses) => findEntries(db, id, addresses)).decoder } = options;
  const clock = { nowMs, sleep: () => Promise.resolve() };
  const identity = evmIdentity(networkId);
  const nodes = Object.entries(options.exchanges).map(
    ([name, exchange]) => new Node({ name, identity, exchange, clock, callsPerSecond: 1_000_000 }),
  );
  return new Follower({
    store: new NetworkStore(db, holder, (queries, id) => sources.read(queries, id)),
    ...{ nodes: new Nodes(nodes), reader: new EvmReader(decoder), networkId, clock },
    ...{ finalityDepth: null, leastDepth: 0, quorum: null, graceBlocks: 3, stepChanges },
  });
}

/** Replaces up to five blocks. Most of their payments come back, in the same block or in later ones. */
export function forkAtRandom(chain: ModelChain, random: Random): void {
  const depth = 1 + random.below(5);
  const dropped = chain.blocks.slice(-depth).flatMap(({ transactions }) => transactions);
  const blocks = Array.from({ length: depth + 1 }, (): ModelTransaction[] => []);
  for (const payment of dropped) if (random.below(4) > 0) blocks[random.below(depth + 1)]?.push(payment);
  chain.fork(depth, blocks);
}
