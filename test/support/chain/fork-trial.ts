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
  readonly finalityDepth?: number | null;
};

export const FINALITY_BLOCKS = 16;
const GRACE_BLOCKS = 3;
const SETTLE_BLOCKS = FINALITY_BLOCKS + 30;

export class ForkTrial {
  readonly chain = new ModelChain();
  readonly followed: FollowedChain;
  readonly nodes: readonly ModelNode[];
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
    });
  }

  async run(): Promise<void> {
    const random = this.#random;
    const { maxDepth = 9 } = this.options;
    for (let fork = 0; fork < this.options.forks; fork++) {
      for (let block = random.below(3); block >= 0; block--) {
        this.chain.mine(this.#transactions());
        if (random.below(10) < 8) await this.followed.poll();
      }
      const depth = Math.min(1 + random.below(maxDepth), this.chain.head);
      this.#fork(depth, depth + random.below(3));
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

  /** The new branch has some of the dropped transactions, in other blocks and in another order. */
  #fork(depth: number, length: number): void {
    const kept = this.chain.blocks.slice(0, -depth).length;
    const dropped = this.chain.blocks.slice(kept).flatMap(({ transactions }) => transactions);
    for (const transaction of dropped) this.#waiting.push(transaction);
    this.chain.fork(
      depth,
      Array.from({ length: Math.max(1, length) }, () => this.#transactions()),
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
