import type { CanonicalPayment } from '../../../demo/chain/ledger.ts';
import type { PreparedSource } from '../../../src/store/chain/sources/sources.ts';
import { addressOf, ModelChain, type ModelTransaction, wordOf } from '../../../test/support/chain/model-chain.ts';
import { type Random, seededRandom } from '../../../test/support/random.ts';
import { randomUpTo } from '../../harness/testbed.ts';
import { HttpNode } from './http-node.ts';

/** A network that goes on by itself: payments, forks, and transactions that come back in another block, or never. */

export const FINALITY_BLOCKS = 16;
const MAX_FORK_DEPTH = 9;
const BLOCK_MS = 150;
/** As the blocks say it, so that the service polls as often as it can. */
export const BLOCK_TIME_S = 0.5;
/** Of 100 requests, how many a node rejects with 429. */
const RATE_LIMITED = 8;

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
export const CONTRACT = addressOf(0xc0de);
const PAYEE = addressOf(0xbee);
const PAYER_WORD = wordOf(0xace);
const PAYEE_WORD = wordOf(0xbee);

/** `forking` has payments and forks, `calm` blocks without either, and `still` no blocks. */
type Mood = 'forking' | 'calm' | 'still';

export class FaultyNetwork implements AsyncDisposable {
  readonly chain = new ModelChain(BLOCK_TIME_S);
  mood: Mood = 'still';
  forks = 0;
  readonly #random: Random = seededRandom(randomUpTo(2 ** 31));
  readonly #nodes: HttpNode[] = [];
  readonly #growth: Promise<void>;
  #isStopped = false;
  #payments = 0;
  /** Transactions that are in no block for now. */
  #waiting: ModelTransaction[] = [];

  constructor(readonly networkId: number) {
    this.chain.mineEmpty(FINALITY_BLOCKS);
    this.#growth = this.#grow();
  }

  /** A definition of all payments from now on. */
  get source(): PreparedSource {
    return {
      definition: {
        networkId: this.networkId,
        preset: 'erc20',
        contract: CONTRACT,
        abi: null,
        event: null,
        where: { to: [PAYEE] },
        fields: {},
        fromBlock: 'latest',
        deliverHistory: false,
      },
      topic: TRANSFER,
      topics: [[TRANSFER], null, [PAYEE_WORD]],
      head: this.chain.head,
    };
  }

  openNode(): HttpNode {
    const faults = { chainId: this.networkId, finalized: FINALITY_BLOCKS, rateLimited: RATE_LIMITED };
    const node = new HttpNode(this.chain, faults, this.#random);
    this.#nodes.push(node);
    return node;
  }

  /** The setting that names these nodes. */
  settingOf(nodes: readonly HttpNode[]): string {
    return nodes.map(({ url }) => `${this.networkId}=${url}`).join(',');
  }

  payment(): ModelTransaction {
    return this.transfer(PAYEE, ++this.#payments);
  }

  /** A transaction that pays an address, in no block yet. */
  transfer(address: string, base: number): ModelTransaction {
    const payee = `0x${address.slice(2).padStart(64, '0')}`;
    return this.chain.transaction({
      logs: [{ address: CONTRACT, topics: [TRANSFER, PAYER_WORD, payee], data: wordOf(base) }],
    });
  }

  /** One more block, or a fork. */
  step(): void {
    if (this.mood === 'calm') {
      this.#waiting = [];
      this.chain.mine();
    } else if (this.#random.below(6) > 0) this.chain.mine(this.#transactions());
    else this.#fork();
  }

  #fork(): void {
    const random = this.#random;
    const depth = 1 + random.below(MAX_FORK_DEPTH);
    const dropped = this.chain.blocks.slice(-depth).flatMap(({ transactions }) => transactions);
    this.#waiting.push(...dropped);
    const blocks = Array.from({ length: depth + random.below(3) }, () => this.#transactions());
    this.chain.fork(depth, blocks);
    this.forks++;
  }

  #transactions(): ModelTransaction[] {
    const random = this.#random;
    const chosen = random.below(3) > 0 ? [this.payment()] : [];
    this.#waiting = this.#waiting.filter((transaction) => {
      const fate = random.below(100);
      if (fate < 35) chosen.push(transaction);
      // A few never come back.
      return fate >= 40;
    });
    return chosen;
  }

  async #grow(): Promise<void> {
    while (!this.#isStopped) {
      if (this.mood !== 'still') this.step();
      await Bun.sleep(BLOCK_MS);
    }
  }

  /** The payments that are in the chain, by their transaction. */
  payments(): Map<string, CanonicalPayment> {
    return new Map(
      this.chain
        .logs()
        .map(({ transactionHash, blockNumber, blockHash, data }) => [
          transactionHash,
          { blockNumber, blockHash, amountBase: String(BigInt(data)) },
        ]),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    await this.#growth;
    for (const node of this.#nodes) await node[Symbol.asyncDispose]();
  }
}
