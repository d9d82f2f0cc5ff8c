import { creditsOf } from '../../src/chain/solana/decode/credits.ts';
import { readTransaction } from '../../src/chain/solana/decode/transaction.ts';
import { FakeNode } from '../../test/support/chain/solana/fake-node.ts';
import { serveNode } from '../../test/support/chain/solana/serve-node.ts';
import { MINT, newShops } from '../../test/support/chain/solana/shops.ts';
import { type Random, seededRandom } from '../../test/support/random.ts';
import type { CanonicalPayment } from './ledger.ts';
import { MAX_DEPTH, type PaidNetwork, type Rules } from './paid-network.ts';

const SEED = 18;
const BLOCKS_OF_A_ROUND = 3;
/** Slots from one block to the next while the demo waits: most are skipped, so that 200 slots pass in a second. */
const SLOTS_OF_A_WAIT = 20;

/** A model of Solana with one node. Payments to one wallet are made and undone. */
export class SolanaNetwork implements PaidNetwork {
  readonly rules: Rules = { networkId: 900, preset: 'spl', finalBehind: 32, pollEvery: '300ms' };
  readonly contract = MINT;
  readonly #model = newShops(SEED, 1);
  readonly #node: ReturnType<typeof serveNode>;
  readonly #random: Random = seededRandom(SEED);
  #paid = 0;

  constructor() {
    const { cluster, accounts } = this.#model;
    this.#node = serveNode(new FakeNode(cluster, accounts, this.#random));
    for (let block = 0; block < 2 * MAX_DEPTH; block++) cluster.add([]);
  }

  get url(): string {
    return this.#node.url;
  }

  get payee(): string {
    return this.#model.shops[0]?.sol.key ?? '';
  }

  stop(): Promise<void> {
    return this.#node.stop();
  }

  async pay(count: number): Promise<void> {
    const { cluster, pay } = this.#model;
    for (let block = 0; block < BLOCKS_OF_A_ROUND; block++) {
      const until = Math.round(((block + 1) * count) / BLOCKS_OF_A_ROUND);
      const sent = Math.round((block * count) / BLOCKS_OF_A_ROUND);
      const amounts = Array.from({ length: until - sent }, () => BigInt(1_000_000 + 10_000 * this.#paid++));
      cluster.add(amounts.map((amount) => pay(0, amount)));
    }
  }

  /** Replaces the newest blocks. Of their payments some move, some come back later, and some are gone for good. */
  async reorganise(): Promise<void> {
    this.#model.cluster.fork(MAX_DEPTH);
  }

  async mine(blocks = 1): Promise<void> {
    const { cluster } = this.#model;
    for (let block = 0; block < blocks; block++) {
      cluster.catchUp();
      cluster.add([], cluster.tip.slot + SLOTS_OF_A_WAIT);
    }
  }

  /** The payments in the chain as it is now, by the model itself and not by the node that Paybell reads. */
  async payments(): Promise<Map<string, CanonicalPayment>> {
    const payments = new Map<string, CanonicalPayment>();
    for (const { slot, hash, executed } of this.#model.cluster.blocks) {
      for (const { shown } of executed) {
        const transaction = readTransaction(shown);
        const credits = transaction === null ? [] : creditsOf(transaction);
        const credit = credits.find(({ payee, token }) => payee === this.payee && token === MINT);
        if (transaction === null || credit === undefined) continue;
        const payment = { blockNumber: slot, blockHash: hash, amountBase: String(credit.amount) };
        payments.set(transaction.signature, payment);
      }
    }
    return payments;
  }
}
