import { evmIdentity } from '../../../src/chain/evm/identity.ts';
import { Node } from '../../../src/chain/rpc/node.ts';
import { Nodes } from '../../../src/chain/rpc/nodes.ts';
import type { FactChange } from '../../../src/domain/chain/facts.ts';
import type { Lease, Step } from '../../../src/store/chain/network-store.ts';
import { NetworkStore } from '../../../src/store/chain/networks.ts';
import { FollowedSources } from '../../../src/store/chain/sources/followed.ts';
import type { PreparedSource } from '../../../src/store/chain/sources/sources.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { addressOf, ModelChain, type ModelTransaction, wordOf } from '../../support/chain/model-chain.ts';
import { TOPIC } from '../../support/chain/model-decoder.ts';
import { type Faults, ModelNode } from '../../support/chain/model-node.ts';
import { Random } from '../world/random.ts';
import { world } from '../world/world.ts';
import { transferLog } from './invoices.ts';
import { Provider } from './provider.ts';
import { NETWORK_ID } from './settings.ts';

/** Blocks below the head that are safe, and those that are final: no reorg of the simulation is as deep. */
const SAFE_DEPTH = 3;
export const FINAL_DEPTH = 6;
export const MAX_REORG_DEPTH = 4;

/** So that the number of nodes changes no other number that a seed draws. */
const NODES = 0x40de5;
const BLOCK_TIME_S = 1;
/** So that blocks are final from the start; no payment is in one of them, and no reorg reaches them. */
const FIRST_BLOCKS = 20;

const SOUND: Partial<Faults> = {
  ...{
    chainId: NETWORK_ID,
    finalized: FINAL_DEPTH,
    safe: SAFE_DEPTH,
    lag: 0,
    aheadS: 0,
    unreachable: 0,
    rateLimited: 0,
  },
  ...{ omission: { responses: 0, logs: 0 }, invents: () => [], denies: () => false },
};

/** An attempt to write changes of facts: the commit is somewhere in its time, if there is one. */
export type WrittenStep = {
  readonly changes: readonly FactChange[];
  readonly startMs: number;
  /** Infinite while it is under way, and if its outcome is unknown. */
  endMs: number;
  isCommitted: boolean;
};

/** A network of one to five providers on one model of a chain, and what was written about its facts. */
export class Network {
  readonly chain = new ModelChain(BLOCK_TIME_S);
  readonly providers: readonly Provider[];
  readonly steps: WrittenStep[] = [];
  #payments = 0;

  /** The first URL has two nodes behind it. */
  constructor(seed: number) {
    this.chain.mineEmpty(FIRST_BLOCKS + FINAL_DEPTH);
    const random = { below: (limit: number) => world.random.below(limit) };
    this.providers = Array.from({ length: nodesOf(seed) }, (_, url) => {
      const nodes = Array.from({ length: url === 0 ? 2 : 1 }, () => new ModelNode(this.chain, SOUND, random));
      return new Provider(nodes, SOUND);
    });
  }

  get nodes(): ModelNode[] {
    return this.providers.flatMap(({ nodes }) => nodes);
  }

  /** Each instance knows the health of the nodes by itself. */
  nodesFor(): Nodes {
    return new Nodes(
      this.providers.map(
        ({ exchange }, index) =>
          new Node({
            ...{
              name: `${NETWORK_ID}#${index + 1}`,
              identity: evmIdentity(NETWORK_ID),
              callsPerSecond: 1_000,
              exchange,
            },
            hasOthers: this.providers.length > 1,
          }),
      ),
    );
  }

  storeFor(db: Database, holder: string): NetworkStore {
    return new ObservedNetworkStore(db, holder, this.steps);
  }

  /** A source for all payments to a contract, those before it included. */
  source(contract: number): PreparedSource {
    return {
      definition: {
        ...{ networkId: NETWORK_ID, preset: null, contract: addressOf(contract), abi: null, event: null },
        ...{ where: {}, fields: {}, fromBlock: FIRST_BLOCKS, deliverHistory: true },
      },
      ...{ topic: TOPIC, topics: [[TOPIC]], head: this.chain.head },
    };
  }

  /** A transaction that no block has yet: with a log of the contract, or without one for a payment that an event is held for. */
  transaction(contract: number | null): ModelTransaction {
    const data = wordOf(++this.#payments);
    return this.chain.transaction({
      logs: contract === null ? [] : [{ address: addressOf(contract), topics: [TOPIC], data }],
    });
  }

  /** A transaction that pays an address in the token of invoices, in no block yet. */
  transfer(address: string, base: bigint): ModelTransaction {
    return this.chain.transaction({ logs: [transferLog(address, base)] });
  }

  /** The time of the newest block, in Unix seconds. */
  get timeS(): number {
    return this.chain.blocks.at(-1)?.timestampS ?? 0;
  }

  isCanonical({ hash }: ModelTransaction): boolean {
    return this.chain.blocks.some(({ transactions }) => transactions.some((one) => one.hash === hash));
  }

  /** The transactions that a reorg can still remove. */
  get recent(): ModelTransaction[] {
    return this.chain.blocks.slice(-MAX_REORG_DEPTH).flatMap(({ transactions }) => transactions);
  }

  /** Replaces the newest blocks. The transactions that are not dropped are in the new blocks, in any of them. */
  reorg(depth: number, isDropped: (transaction: ModelTransaction) => boolean, draw: Random): void {
    const blocks: ModelTransaction[][] = Array.from({ length: depth + 1 }, () => []);
    for (const { transactions } of this.chain.blocks.slice(-depth)) {
      for (const one of transactions) if (!isDropped(one)) draw.pick(blocks)?.push(one);
    }
    this.chain.fork(depth, blocks);
  }

  heal(): void {
    for (const provider of this.providers) provider.heal();
  }
}

/** The nodes that the settings name. */
export function nodesOf(seed: number): number {
  return new Random(seed ^ NODES).oneOf(1, 2, 3, 5);
}

/** The real one, with a record of what it was asked to write. */
class ObservedNetworkStore extends NetworkStore {
  constructor(
    db: Database,
    holder: string,
    private readonly steps: WrittenStep[],
  ) {
    const sources = new FollowedSources();
    super(db, holder, (queries, networkId) => sources.read(queries, networkId));
  }

  override async commit(lease: Lease, step: Step): Promise<boolean> {
    const { changes } = step;
    const written: WrittenStep = { changes, startMs: world.nowMs, endMs: Number.POSITIVE_INFINITY, isCommitted: false };
    if (changes.length > 0) this.steps.push(written);
    written.isCommitted = await super.commit(lease, step);
    written.endMs = world.nowMs;
    return written.isCommitted;
  }
}
