import type { Decoder } from '../../../src/chain/evm/decode/decoder.ts';
import { type Random, seededRandom } from '../random.ts';
import { FollowedChain } from './followed-chain.ts';
import { ModelChain, type ModelTransaction } from './model-chain.ts';
import { balancer, type Faults, ModelNode } from './model-node.ts';

/** A network with forks and faulty nodes that is followed until it has settled, as a seed has it. */

export type TrialOptions = {
  readonly seed: number;
  readonly forks: number;
  /** The blocks of the longest fork. Finality is further below. */
  readonly maxDepth?: number;
  readonly nodes: readonly Partial<Faults>[];
  /** Whether all nodes are behind one URL. */
  readonly isBalanced?: boolean;
  /** For nodes without tags. */
  readonly finalityDepth?: number;
  readonly decoder?: Decoder;
  /** Blocks before each fork, at most a few more. */
  readonly blocksBetween?: number;
};

const FINALITY_BLOCKS = 16;
const GRACE_BLOCKS = 3;
const SETTLE_BLOCKS = FINALITY_BLOCKS + 30;

export class ForkTrial {
  readonly chain = new ModelChain();
  readonly followed: FollowedChain;
  readonly nodes: readonly ModelNode[];
  /** Retractions of a fact that every node had in the blocks that were read. */
  falseRetractions = 0;
  #highest = 0;
  /** Transactions that are in no block for now. */
  readonly #waiting: ModelTransaction[] = [];
  readonly #random: Random;

  constructor(private readonly options: TrialOptions) {
    const random = seededRandom(options.seed);
    this.#random = random;
    const tags = options.finalityDepth === undefined ? {} : ({ finalized: 'error', safe: 'null' } as const);
    this.nodes = options.nodes.map(
      (faults) => new ModelNode(this.chain, { finalized: FINALITY_BLOCKS, ...tags, ...faults }, random),
    );
    const exchanges = this.nodes.map(({ exchange }) => exchange);
    this.followed = new FollowedChain(this.chain, {
      nodes: options.isBalanced === true ? [balancer(this.nodes)] : exchanges,
      finalityDepth: options.finalityDepth ?? null,
      graceBlocks: GRACE_BLOCKS,
      ...(options.decoder === undefined ? {} : { decoder: options.decoder }),
    });
    this.followed.store.onRetraction = (fact, tip) => {
      if (this.nodes.every((node) => node.hasTransaction(fact.transactionHash, tip))) this.falseRetractions++;
    };
  }

  async run(): Promise<void> {
    const random = this.#random;
    const { maxDepth = 9, blocksBetween = 0 } = this.options;
    for (let fork = 0; fork < this.options.forks; fork++) {
      for (let block = blocksBetween + random.below(3); block >= 0; block--) {
        this.chain.mine(this.#transactions());
        if (random.below(10) < 6) await this.followed.poll();
      }
      this.#fork(1 + random.below(maxDepth));
      await this.followed.poll();
    }
    await this.settle();
  }

  /** Blocks without forks, until what was lost is retracted and the rest is final. */
  async settle(): Promise<void> {
    for (let block = 0; block < SETTLE_BLOCKS; block++) {
      this.chain.mine(this.#transactions());
      await this.followed.poll();
    }
    for (const { faults } of this.nodes) faults.lag = 0;
    for (let poll = 0; poll < SETTLE_BLOCKS; poll++) await this.followed.poll();
  }

  /**
   * The new branch has some of the dropped transactions, in other blocks and in another order. It is longer by a few blocks,
   * or shorter by one, and never goes below what has been final.
   */
  #fork(wanted: number): void {
    const { chain } = this;
    this.#highest = Math.max(this.#highest, chain.head);
    const depth = Math.min(wanted, chain.head - Math.max(0, this.#highest - FINALITY_BLOCKS) - 1);
    if (depth < 1) return;
    const length = Math.max(1, depth - 1 + this.#random.below(4));
    const dropped = chain.blocks.slice(-depth).flatMap(({ transactions }) => transactions);
    this.#waiting.push(...dropped);
    chain.fork(
      depth,
      Array.from({ length }, () => this.#transactions()),
    );
  }

  #transactions(): ModelTransaction[] {
    const random = this.#random;
    const chosen: ModelTransaction[] = [];
    if (random.below(2) === 0) chosen.push(this.followed.payment(1 + random.below(2)));
    // Nearly all come back soon, and a few never do.
    for (let at = this.#waiting.length - 1; at >= 0; at--) {
      if (random.below(100) < 35) chosen.push(...this.#waiting.splice(at, 1));
    }
    if (random.below(100) < 5) this.#waiting.splice(0, 1);
    return chosen;
  }
}
