import { evmIdentity } from '../../../../src/chain/evm/identity.ts';
import { EvmReader } from '../../../../src/chain/evm/reader.ts';
import type { ChainReader } from '../../../../src/chain/follow/reader.ts';
import { Node } from '../../../../src/chain/rpc/node.ts';
import { Nodes } from '../../../../src/chain/rpc/nodes.ts';
import type { NetworkStore } from '../../../../src/store/chain/networks.ts';
import type { PreparedSource } from '../../../../src/store/chain/sources/sources.ts';
import type { Database } from '../../../../src/store/database/database.ts';
import { addressOf, ModelChain, type ModelTransaction, wordOf } from '../../../support/chain/model-chain.ts';
import { TOPIC } from '../../../support/chain/model-decoder.ts';
import { type Faults, ModelNode } from '../../../support/chain/model-node.ts';
import type { Random } from '../../world/random.ts';
import { world } from '../../world/world.ts';
import {
  type InvoicedChain,
  type Network,
  type NewPayment,
  nodesOf,
  ObservedNetworkStore,
  type Transaction,
  type WrittenStep,
} from '../network.ts';
import { Provider } from '../provider.ts';
import { NETWORK_ID, paymentOf, paymentOfLog } from './amounts.ts';
import { simulatedDecoder, transferLog } from './invoices.ts';
import { MISBEHAVIOURS } from './node-faults.ts';

/** Blocks below the head that are safe, and those that are final: no reorg of the simulation is as deep. */
const SAFE_DEPTH = 3;
const FINAL_DEPTH = 6;
export const MAX_REORG_DEPTH = 4;

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

/** One to five providers on one model of an EVM chain. */
export class EvmNetwork implements Network {
  readonly networkId = NETWORK_ID;
  readonly maxReorgDepth = MAX_REORG_DEPTH;
  /** A lone node must call a block final at two heads, and a node that failed is left alone for a while. */
  readonly lastRounds = { least: FINAL_DEPTH + 4, most: 60 };
  readonly pollMs = null;
  readonly chain = new ModelChain(BLOCK_TIME_S);
  readonly providers: readonly Provider<ModelNode>[];
  readonly steps: WrittenStep[] = [];
  readonly #transactions = new Map<string, ModelTransaction>();
  #payments = 0;

  /** The first URL has two nodes behind it. */
  constructor(seed: number) {
    this.chain.mineEmpty(FIRST_BLOCKS + FINAL_DEPTH);
    const random = { below: (limit: number) => world.random.below(limit) };
    this.providers = Array.from({ length: nodesOf(seed) }, (_, url) => {
      const nodes = Array.from({ length: url === 0 ? 2 : 1 }, () => new ModelNode(this.chain, SOUND, random));
      return new Provider(nodes, healNode);
    });
  }

  get nodes(): ModelNode[] {
    return this.providers.flatMap(({ nodes }) => nodes);
  }

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

  readerFor(db: Database): ChainReader {
    return new EvmReader(simulatedDecoder(db));
  }

  storeFor(db: Database, holder: string): NetworkStore {
    return new ObservedNetworkStore(db, holder, this.steps);
  }

  source(contract: number): PreparedSource {
    return {
      definition: {
        ...{ networkId: NETWORK_ID, preset: null, contract: addressOf(contract), abi: null, event: null },
        ...{ where: {}, fields: {}, fromBlock: FIRST_BLOCKS, deliverHistory: true },
      },
      ...{ topic: TOPIC, topics: [[TOPIC]], head: this.head },
    };
  }

  paymentOf(amount: number) {
    return paymentOf(amount);
  }

  newPayment(contract: number): NewPayment {
    const log = { address: addressOf(contract), topics: [TOPIC], data: wordOf(++this.#payments) };
    return { transaction: this.#keep(this.chain.transaction({ logs: [log] })), fields: paymentOfLog(log) };
  }

  newTransaction(): Transaction {
    this.#payments++;
    return this.#keep(this.chain.transaction());
  }

  #keep(transaction: ModelTransaction): ModelTransaction {
    this.#transactions.set(transaction.hash, transaction);
    return transaction;
  }

  append(transactions: readonly Transaction[] = []): void {
    this.chain.mine(transactions.flatMap(({ hash }) => this.#transactions.get(hash) ?? []));
  }

  get head(): number {
    return this.chain.head;
  }

  get invoiced(): InvoicedChain {
    return {
      chain: this.chain,
      timeS: this.chain.blocks.at(-1)?.timestampS ?? 0,
      transfer: (address, base) => this.#keep(this.chain.transaction({ logs: [transferLog(address, base)] })),
    };
  }

  isCanonical(transaction: Transaction): boolean {
    return this.blockOf(transaction) !== null;
  }

  mayAppend(): boolean {
    return true;
  }

  blockOf({ hash }: Transaction): number | null {
    const found = this.chain.blocks.find(({ transactions }) => transactions.some((one) => one.hash === hash));
    return found?.number ?? null;
  }

  get recent(): ReadonlySet<string> {
    const blocks = this.chain.blocks.slice(-MAX_REORG_DEPTH);
    return new Set(blocks.flatMap(({ transactions }) => transactions.map(({ hash }) => hash)));
  }

  reorg(depth: number, isDropped: (hash: string) => boolean, draw: Random): void {
    const blocks: ModelTransaction[][] = Array.from({ length: depth + 1 }, () => []);
    for (const { transactions } of this.chain.blocks.slice(-depth)) {
      for (const one of transactions) if (!isDropped(one.hash)) draw.pick(blocks)?.push(one);
    }
    this.chain.fork(depth, blocks);
  }

  misbehave(fault: string, position: number): void {
    const provider = this.providers[position];
    if (provider !== undefined) MISBEHAVIOURS[fault]?.begin(provider, position);
  }

  disturb(draw: Random): () => void {
    const faulty = draw.pick(this.nodes);
    const fault = draw.oneOf({ lag: 2 }, { rateLimited: 50 }, { unreachable: 50 });
    if (faulty !== undefined) Object.assign(faulty.faults, fault);
    return () => faulty !== undefined && Object.assign(faulty.faults, { lag: 0, rateLimited: 0, unreachable: 0 });
  }

  heal(): void {
    for (const provider of this.providers) provider.heal();
  }
}

function healNode(node: ModelNode): void {
  node.thaw();
  Object.assign(node.faults, SOUND);
}
