import type { Decoder } from '../../../src/chain/evm/decode/decoder.ts';
import type { EvmHabits } from '../../../src/chain/evm/follow/evm-poll.ts';
import { evmIdentity } from '../../../src/chain/evm/identity.ts';
import { EvmReader } from '../../../src/chain/evm/reader.ts';
import { Follower } from '../../../src/chain/follow/follower.ts';
import type { PollResult } from '../../../src/chain/follow/poll-result.ts';
import type { Exchange } from '../../../src/chain/rpc/http-exchange.ts';
import { Node } from '../../../src/chain/rpc/node.ts';
import { Nodes } from '../../../src/chain/rpc/nodes.ts';
import type { FollowedSource } from '../../../src/store/chain/network-store.ts';
import { MemoryStore } from './memory-store.ts';
import { type ModelChain, type ModelTransaction, wordOf } from './model-chain.ts';
import { modelDecoder, modelFacts, modelSource, TOPIC } from './model-decoder.ts';

/** A model chain with a follower of it, in a time that only the test and waits let pass. */

export class TestClock {
  ms = 0;
  readonly nowMs = () => this.ms;
  readonly sleep = async (ms: number) => {
    this.ms += ms;
  };
}

export type FollowedOptions = {
  readonly nodes: readonly Exchange[];
  /** The ids of the nodes by which their votes are stored; without them, their names. */
  readonly ids?: readonly string[];
  readonly sources?: FollowedSource[];
  readonly startBlock?: number | null;
  readonly finalityDepth?: number | null;
  readonly graceBlocks?: number;
  readonly leastDepth?: number;
  readonly quorum?: number | null;
  readonly decoder?: Decoder;
  readonly habits?: EvmHabits;
  /** What another follower has left. */
  readonly store?: MemoryStore;
};

const POLL_MS = 2_000;
/** Later than the blocks of any test: a head of the future is not plausible. */
const START_MS = 1_800_000_000_000;
const MAX_POLLS = 2_000;

export class FollowedChain {
  readonly clock = new TestClock();
  readonly store: MemoryStore;
  readonly nodes: Nodes;
  follower: { poll(): Promise<PollResult> };
  readonly results: PollResult[] = [];
  #payments = 0;

  constructor(
    readonly chain: ModelChain,
    {
      nodes,
      sources = [modelSource()],
      startBlock = 1,
      finalityDepth = null,
      graceBlocks = 3,
      leastDepth = 1,
      quorum = null,
      ...options
    }: FollowedOptions,
  ) {
    const { clock } = this;
    this.store = options.store ?? new MemoryStore({ sources, startBlock });
    this.store.nowMs = () => START_MS + clock.ms;
    this.nodes = new Nodes(
      nodes.map(
        (exchange, index) =>
          new Node({
            name: `1#${index + 1}`,
            ...(options.ids === undefined ? {} : { id: options.ids[index] ?? '' }),
            identity: evmIdentity(1),
            exchange,
            clock,
            random: () => 0.5,
            dateMs: clock.nowMs,
          }),
      ),
    );
    this.follower = new Follower({
      store: this.store,
      nodes: this.nodes,
      reader: new EvmReader(options.decoder ?? modelDecoder, options.habits),
      ...{ networkId: 1, finalityDepth, graceBlocks, leastDepth, quorum, clock },
    });
  }

  /** One poll, a moment after the last one. */
  async poll(): Promise<PollResult> {
    this.clock.ms += POLL_MS;
    const result = await this.follower.poll();
    this.results.push(result);
    return result;
  }

  async pollTimes(count: number): Promise<void> {
    for (let poll = 0; poll < count; poll++) await this.poll();
  }

  /** One block after another, each with a poll. */
  async mineAndPoll(blocks: number): Promise<void> {
    for (let block = 0; block < blocks; block++) {
      this.chain.mine();
      await this.poll();
    }
  }

  /** The same with a payment in each block. */
  async payAndPoll(blocks: number): Promise<void> {
    for (let block = 0; block < blocks; block++) {
      this.chain.mine([this.payment()]);
      await this.poll();
    }
  }

  /** Polls until the follower has read the head and all of its sources' older blocks. */
  async catchUp(): Promise<PollResult[]> {
    const results: PollResult[] = [];
    while (results.length < MAX_POLLS) {
      const result = await this.poll();
      results.push(result);
      if (result.outcome === 'followed' && result.lagBlocks === 0 && !result.hasBackfill) return results;
      if (result.outcome === 'halted') return results;
    }
    throw new Error(`Not caught up after ${MAX_POLLS} polls`);
  }

  /** A transaction with logs that no other transaction has. */
  payment(logs = 1, contract = modelSource().contract): ModelTransaction {
    const all = Array.from({ length: logs }, () => ({
      address: contract,
      topics: [TOPIC],
      data: wordOf(++this.#payments),
    }));
    return this.chain.transaction({ logs: all });
  }

  /** What is wrong with the facts, given the canonical chain; nothing where they are the same. */
  mistakes(): string[] {
    const canonical = new Map(
      modelFacts(this.chain.logs(), this.store.sources).map((fact) => [`${fact.entityId} ${fact.factId}`, fact]),
    );
    const wrong: string[] = [];
    for (const [key, { position }] of canonical) {
      const fact = this.store.facts.get(key);
      if (fact === undefined) wrong.push(`missing in block ${position.blockNumber}: ${key}`);
      else if (fact.state !== 'seen' && fact.state !== 'final') wrong.push(`${fact.state}, yet canonical: ${key}`);
      else if (fact.position?.blockHash !== position.blockHash) wrong.push(`in another block: ${key}`);
      else if (fact.position.logIndex !== position.logIndex) wrong.push(`at another log: ${key}`);
    }
    for (const [key, { state, isHeld }] of this.store.facts) {
      if (!isHeld && (state === 'seen' || state === 'final') && !canonical.has(key)) wrong.push(`extra: ${key}`);
    }
    return wrong;
  }
}
