import type { Log } from '../../../src/chain/evm/rpc/types.ts';
import type { PollResult } from '../../../src/chain/follow/poll-result.ts';
import { type Random, seededRandom } from '../random.ts';
import { FollowedChain } from './followed-chain.ts';
import { type ModelBlock, ModelChain, wordOf } from './model-chain.ts';
import { modelSource, TOPIC } from './model-decoder.ts';
import { ModelNode } from './model-node.ts';

/** A network whose nodes are witnesses: some of them begin to misbehave while it is followed. */

const FINALITY_BLOCKS = 16;
const MAX_REORG = 6;
const FIRST_BLOCKS = 40;
/** Polls without a fault, in which the follower learns how deep finality is. */
const SOUND_BLOCKS = 20;
/** At the end, without payments: a payment that a node left out is found before it is final, and finality may be 12 polls late. */
const SETTLE_BLOCKS = 32;
/** One of so many blocks has an invented or denied payment. */
const FEW = 5;
const FAKE = 0xfa_0000;

const BEHAVIOURS: Readonly<Record<string, (node: ModelNode) => void>> = {
  honest: () => undefined,
  freezes: (node) => node.freeze(),
  lags: ({ faults }) => {
    faults.lag = 4;
  },
  'calls its head final': ({ faults }) => {
    faults.finalized = 0;
    faults.safe = 0;
  },
  'calls a block two deep final': ({ faults }) => {
    faults.finalized = 2;
  },
  'calls a block nine deep final': ({ faults }) => {
    faults.finalized = 9;
  },
  'calls nothing final': ({ faults }) => {
    faults.finalized = 'error';
  },
  invents: ({ faults }) => {
    faults.invents = (block) => (block.number % FEW === 0 ? [fakeLog(block)] : []);
  },
  denies: ({ faults }) => {
    faults.denies = (hash) => Number.parseInt(hash.slice(-2), 16) % FEW === 0;
  },
  omits: ({ faults }) => {
    faults.omission = { responses: 30, logs: 50 };
  },
  refuses: ({ faults }) => {
    faults.rateLimited = 20;
    faults.unreachable = 20;
  },
  'lives in the future': ({ faults }) => {
    faults.aheadS = 200_000_000;
  },
};

export type Behaviour = keyof typeof BEHAVIOURS;
export const MISBEHAVIOURS: readonly Behaviour[] = Object.keys(BEHAVIOURS).filter((name) => name !== 'honest');

function fakeLog({ number, hash }: ModelBlock): Log {
  const content = { address: modelSource().contract, topics: [TOPIC], data: wordOf(FAKE + number) };
  return { ...content, blockNumber: number, blockHash: hash, transactionHash: wordOf(FAKE + number), logIndex: 99 };
}

export type WitnessOptions = {
  readonly seed: number;
  /** Of each node, from the first one on. */
  readonly nodes: readonly Behaviour[];
  readonly blocks?: number;
  readonly quorum?: number;
};

export class WitnessTrial {
  readonly chain = new ModelChain();
  readonly nodes: readonly ModelNode[];
  readonly followed: FollowedChain;
  /** Polls after which a block was final that the network could still replace. */
  falseFinals = 0;
  /** Retractions of a payment that the chain has. */
  falseRetractions = 0;
  /** Blocks that the follower was behind at most, after the faults had begun. */
  mostBehind = 0;
  /** Polls that finality was late at most. */
  finalLate = 0;
  halts = 0;
  /** Of the alerts that operators get if the trouble lasts. */
  readonly reasons = new Set<string>();
  forks = 0;
  readonly #random: Random;
  #trueFinal = 0;
  #isFaulty = false;

  constructor(private readonly options: WitnessOptions) {
    const random = seededRandom(options.seed);
    this.#random = random;
    this.chain.mineEmpty(FIRST_BLOCKS);
    this.nodes = options.nodes.map(() => new ModelNode(this.chain, { finalized: FINALITY_BLOCKS }, random));
    this.followed = new FollowedChain(this.chain, {
      nodes: this.nodes.map(({ exchange }) => exchange),
      startBlock: FIRST_BLOCKS + 1,
      quorum: options.quorum ?? null,
    });
    this.followed.store.onRetraction = (fact) => {
      const { blocks } = this.chain;
      const isThere = ({ transactions }: ModelBlock) => transactions.some(({ hash }) => hash === fact.transactionHash);
      if (blocks.slice(-60).some(isThere)) this.falseRetractions++;
    };
  }

  async run(): Promise<this> {
    const { blocks = 80 } = this.options;
    for (let block = 0; block < SOUND_BLOCKS; block++) await this.#step();
    for (const [index, node] of this.nodes.entries()) BEHAVIOURS[this.options.nodes[index] ?? 'honest']?.(node);
    this.#isFaulty = true;
    for (let block = 0; block < blocks; block++) await this.#step();
    // Without payments, nothing waits for finality, and it may rise later.
    this.#isFaulty = false;
    for (let block = 0; block < SETTLE_BLOCKS; block++) await this.#mineAndPoll([]);
    return this;
  }

  /** Facts that are final although the chain does not have them in that block. */
  get wrongFinals(): string[] {
    const hashes = new Map(this.chain.blocks.map(({ hash, transactions }) => [hash, transactions]));
    return [...this.followed.store.facts.values()]
      .filter(({ state }) => state === 'final')
      .filter((fact) => {
        const transactions = hashes.get(fact.position?.blockHash ?? '');
        return transactions?.some(({ hash }) => hash === fact.transactionHash) !== true;
      })
      .map(({ transactionHash, position }) => `${transactionHash} in block ${position?.blockNumber}`);
  }

  /** The payments of the chain that are missing, or stand in another block. */
  get missing(): string[] {
    return this.followed.mistakes().filter((mistake) => !mistake.startsWith('extra'));
  }

  get disputed(): number {
    return [...this.followed.store.facts.values()].filter(({ isDisputed }) => isDisputed).length;
  }

  async #step(): Promise<void> {
    if (this.#random.below(7) === 0) this.#fork();
    await this.#mineAndPoll();
  }

  #fork(): void {
    this.forks++;
    const depth = 1 + this.#random.below(MAX_REORG);
    const kept = this.chain.blocks.slice(-depth).flatMap(({ transactions }) => transactions);
    const branch = Array.from({ length: depth + 1 }, (_, at) => (at === 0 ? [] : kept.splice(0, 2)));
    this.chain.fork(depth, branch);
  }

  async #mineAndPoll(payments = [this.followed.payment()]): Promise<PollResult> {
    const { chain, followed } = this;
    chain.mine(payments);
    this.#trueFinal = Math.max(this.#trueFinal, chain.head - FINALITY_BLOCKS);
    const result = await followed.poll();
    const { final, tip } = followed.store.state;
    if (result.outcome === 'halted') this.halts++;
    if ((final ?? 0) > this.#trueFinal) this.falseFinals++;
    const trouble = followed.store.steps.at(-1)?.trouble;
    if (trouble) this.reasons.add(trouble.reason);
    // The store adds this alert with the verdict.
    if (this.disputed > 0) this.reasons.add('payment_disputed');
    if (this.#isFaulty) {
      this.mostBehind = Math.max(this.mostBehind, chain.head - (tip?.number ?? 0));
      this.finalLate = Math.max(this.finalLate, this.#trueFinal - (final ?? 0));
    }
    return result;
  }
}
