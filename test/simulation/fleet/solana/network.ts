import type { ChainReader } from '../../../../src/chain/follow/reader.ts';
import { Node } from '../../../../src/chain/rpc/node.ts';
import { Nodes } from '../../../../src/chain/rpc/nodes.ts';
import { NATIVE } from '../../../../src/chain/solana/decode/credits.ts';
import { compileSource } from '../../../../src/chain/solana/decode/definition.ts';
import { SOLANA } from '../../../../src/chain/solana/family.ts';
import { SolanaReader } from '../../../../src/chain/solana/reader.ts';
import type { NetworkStore } from '../../../../src/store/chain/networks.ts';
import type { PreparedSource } from '../../../../src/store/chain/sources/sources.ts';
import type { Database } from '../../../../src/store/database/database.ts';
import type { Cluster, ModelTransaction } from '../../../support/chain/solana/cluster.ts';
import { FakeNode } from '../../../support/chain/solana/fake-node.ts';
import { MINT, newShops, type Shops } from '../../../support/chain/solana/shops.ts';
import { LATER_CONTRACTS } from '../../model/contracts.ts';
import { asNobody } from '../../world/owners.ts';
import type { Random } from '../../world/random.ts';
import { world } from '../../world/world.ts';
import { AMOUNTS, type PaymentFields } from '../amounts.ts';
import {
  type Network,
  type NewPayment,
  nodesOf,
  ObservedNetworkStore,
  type Transaction,
  type WrittenStep,
} from '../network.ts';
import { Provider } from '../provider.ts';
import { MISBEHAVIOURS } from './node-faults.ts';

const NETWORK_ID = 900;
const SLOT_MS = 400;
/** So that slots are finalized from the start; no payment is in one of them, and no reorg reaches them. */
const FIRST_BLOCKS = 20;
/** Blocks after them, of which the newest are not finalized. */
const MORE_BLOCKS = 40;
/** Less than the distance to the newest finalized slot. */
const MAX_REORG_DEPTH = 16;
/** A transaction cannot land later: its blockhash is too old. */
const LONGEST_LIFE_SLOTS = 140;
/** These wallets are followed for SOL, and the others for the token. */
const FIRST_NATIVE = 6;
const TOKEN_UNIT = 10n ** 6n;
/** Shorter than an amount in the token, because a payer has less SOL. */
const SOL_UNIT = 10n ** 4n;

/** One to five providers on one model of Solana. Slots pass with the time. A contract is a wallet that is paid. */
export class SolanaNetwork implements Network {
  readonly networkId = NETWORK_ID;
  readonly maxReorgDepth = MAX_REORG_DEPTH;
  /** A lost payment is retracted after 200 slots, and a round has four of them. */
  readonly lastRounds = { least: 90, most: 180 };
  readonly pollMs = SOLANA.pollMs;
  readonly invoiced = null;
  readonly providers: readonly Provider<FakeNode>[];
  readonly steps: WrittenStep[] = [];
  readonly #shops: Shops;
  readonly #cluster: Cluster;
  readonly #firstSlot: number;
  readonly #transactions = new Map<string, { readonly transaction: ModelTransaction; readonly bornAt: number }>();
  #payments = 0;

  /** The first URL has two nodes behind it. */
  constructor(seed: number) {
    this.#shops = newShops(seed, 1 + LATER_CONTRACTS.length);
    this.#cluster = this.#shops.cluster;
    for (let block = 0; block < FIRST_BLOCKS; block++) this.#cluster.add([]);
    this.#firstSlot = this.head;
    for (let block = 0; block < MORE_BLOCKS; block++) this.#cluster.add([]);
    const random = { below: (limit: number) => world.random.below(limit) };
    this.providers = Array.from({ length: nodesOf(seed) }, (_, url) => {
      const { cluster, accounts } = this.#shops;
      const nodes = Array.from({ length: url === 0 ? 2 : 1 }, () => new FakeNode(cluster, accounts, random));
      return new Provider(nodes, (node) => node.heal());
    });
    this.#tick();
  }

  #tick(): void {
    const pass = () => {
      this.#cluster.add([]);
      this.#tick();
    };
    asNobody(() => world.schedule(pass, SLOT_MS));
  }

  nodesFor(): Nodes {
    const { dialect } = SOLANA;
    return new Nodes(
      this.providers.map(
        ({ exchange }, index) =>
          new Node({
            ...{ name: `${NETWORK_ID}#${index + 1}`, identity: SOLANA.identity(NETWORK_ID), exchange },
            ...(dialect !== undefined && { dialect }),
            ...{ callsPerSecond: 1_000, hasOthers: this.providers.length > 1 },
          }),
      ),
    );
  }

  readerFor(): ChainReader {
    return new SolanaReader();
  }

  storeFor(db: Database, holder: string): NetworkStore {
    return new ObservedNetworkStore(db, holder, this.steps);
  }

  source(contract: number): PreparedSource {
    const { sol, token } = this.#shopOf(contract);
    const isNative = contract >= FIRST_NATIVE;
    const preset = isNative ? 'native' : 'spl';
    const compiled = compileSource({
      ...{ networkId: NETWORK_ID, preset, contract: isNative ? NATIVE : MINT, abi: null, event: null },
      ...{ where: { to: [sol.key] }, fields: {}, fromBlock: this.#firstSlot, deliverHistory: true },
    });
    if (!compiled.isValid) throw new Error(JSON.stringify(compiled.errors));
    const topics = [[sol.key], [isNative ? sol.key : token.key]];
    return { definition: compiled.definition, topic: preset, topics, head: this.head };
  }

  #shopOf(contract: number) {
    const shop = this.#shops.shops[contract - 1];
    if (shop === undefined) throw new Error(`there is no wallet ${contract}`);
    return shop;
  }

  paymentOf(amount: number): PaymentFields {
    return { amount: String(amount), token: MINT };
  }

  newPayment(contract: number): NewPayment {
    const amount = AMOUNTS[++this.#payments % AMOUNTS.length] ?? 0;
    const shop = contract - 1;
    if (contract < FIRST_NATIVE) {
      const transaction = this.#shops.pay(shop, BigInt(amount) * TOKEN_UNIT);
      return { transaction: this.#keep(transaction), fields: this.paymentOf(amount) };
    }
    const transaction = this.#shops.paySol(shop, BigInt(amount) * SOL_UNIT);
    return { transaction: this.#keep(transaction), fields: { amount: String(amount), token: NATIVE } };
  }

  newTransaction(): Transaction {
    const [payer] = this.#shops.payers;
    if (payer === undefined) throw new Error('a cluster has payers');
    return this.#keep(this.#cluster.transaction(payer.sol, [], () => true));
  }

  #keep(transaction: ModelTransaction): Transaction {
    const { signature } = transaction;
    this.#transactions.set(signature, { transaction, bornAt: this.head });
    return { hash: signature };
  }

  append(transactions: readonly Transaction[] = []): void {
    this.#cluster.add(transactions.flatMap(({ hash }) => this.#transactions.get(hash)?.transaction ?? []));
  }

  get head(): number {
    return this.#cluster.tip.slot;
  }

  isCanonical(transaction: Transaction): boolean {
    return this.blockOf(transaction) !== null;
  }

  mayAppend({ hash }: Transaction): boolean {
    return this.head - (this.#transactions.get(hash)?.bornAt ?? 0) < LONGEST_LIFE_SLOTS;
  }

  blockOf({ hash }: Transaction): number | null {
    return this.#cluster.find(hash)?.block.slot ?? null;
  }

  get recent(): ReadonlySet<string> {
    return new Set(this.#newest(MAX_REORG_DEPTH).map(({ signature }) => signature));
  }

  reorg(depth: number, isDropped: (hash: string) => boolean, draw: Random): void {
    const blocks: ModelTransaction[][] = Array.from({ length: depth + 1 }, () => []);
    for (const one of this.#newest(depth)) if (!isDropped(one.signature)) draw.pick(blocks)?.push(one);
    this.#cluster.branch(this.#depthUpTo(depth), blocks);
  }

  /** The transactions of the newest blocks that are not finalized. */
  #newest(depth: number): ModelTransaction[] {
    const blocks = this.#cluster.blocks.slice(this.#cluster.blocks.length - this.#depthUpTo(depth));
    return blocks.flatMap(({ executed }) => executed.map(({ transaction }) => transaction));
  }

  #depthUpTo(depth: number): number {
    return Math.min(depth, this.#cluster.blocks.length - 1 - this.#cluster.finalized);
  }

  misbehave(fault: string, position: number): void {
    const provider = this.providers[position];
    if (provider !== undefined) MISBEHAVIOURS[fault]?.begin(provider, this.#shops);
  }

  disturb(draw: Random): () => void {
    const faulty = draw.pick(this.providers.flatMap(({ nodes }) => nodes));
    const fault = draw.oneOf({ lag: 8 }, { failing: 50 }, { failing: 100 });
    if (faulty !== undefined) Object.assign(faulty.faults, fault);
    return () => faulty !== undefined && Object.assign(faulty.faults, { lag: 0, failing: 0 });
  }

  heal(): void {
    for (const provider of this.providers) provider.heal();
  }
}
