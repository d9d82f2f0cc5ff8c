import { logsOf, taggedBlock } from '../../../src/chain/evm/rpc/calls.ts';
import type { PollResult } from '../../../src/chain/follow/poll-result.ts';
import { RpcFailure } from '../../../src/chain/rpc/failures.ts';
import type { Nodes } from '../../../src/chain/rpc/nodes.ts';
import type { FactChange } from '../../../src/domain/chain/facts.ts';
import type { MemoryStore } from './memory-store.ts';
import { modelFacts, modelSource, TOPIC } from './model-decoder.ts';
import { PLAIN_STEP } from './steps.ts';

const TAIL_BLOCKS = 12;
const FINALITY_BLOCKS = 16;
const GRACE_BLOCKS = 3;

/** Reads the logs of the last blocks and believes them: what is not among them is gone. It is what tests have to find out. */
export class NaiveFollower {
  constructor(
    private readonly store: MemoryStore,
    private readonly nodes: Nodes,
  ) {}

  async poll(): Promise<PollResult> {
    const head = await this.nodes.ask(taggedBlock('latest'));
    if (head === null) throw new RpcFailure('garbage');
    const tip = this.store.state.tip?.number ?? head.number;
    const final = this.store.state.final ?? -1;
    const from = Math.max(final + 1, Math.min(tip, head.number) - TAIL_BLOCKS);
    const addresses = [modelSource().contract];
    const logs = await this.nodes.ask(logsOf({ fromBlock: from, toBlock: head.number, addresses, topics: [[TOPIC]] }));
    const lease = await this.store.lease(1);
    const found = new Map(modelFacts(logs, lease.sources).map((fact) => [fact.factId, fact]));
    const changes: FactChange[] = [];
    for (const fact of await this.store.factsIn(1, from, Number.MAX_SAFE_INTEGER)) {
      if (!found.has(fact.factId)) changes.push({ ...fact, change: 'lost', lostAtHead: head.number });
    }
    const known = new Map((await this.store.factsOf([...found.values()])).map((fact) => [fact.factId, fact]));
    for (const fact of found.values()) {
      const before = known.get(fact.factId);
      if (before === undefined) changes.push({ change: 'seen', fact });
      else if (before.state === 'retracted') changes.push({ ...fact, change: 'again' });
      else if (before.state !== 'final') changes.push({ ...fact, change: 'moved' });
    }
    for (const fact of lease.lost) {
      const isDue = head.number - (fact.lostAtHead ?? 0) >= GRACE_BLOCKS;
      if (isDue && !found.has(fact.factId)) changes.push({ ...fact, change: 'retracted' });
    }
    const at = { number: head.number, hash: head.hash };
    const levels = { head: head.number, safe: null, final: Math.max(final, head.number - FINALITY_BLOCKS) };
    const rest = { ...PLAIN_STEP, rangeBlocks: 1, blockTimeMs: null, backfilled: [], asked: [], nodes: [] };
    await this.store.commit(lease, { tip: at, anchors: [at], ...levels, changes, ...rest });
    return { ...NOTHING, outcome: 'followed' };
  }
}

const NOTHING: PollResult = {
  outcome: 'followed',
  ...{
    calls: 0,
    requests: 0,
    liveCalls: 0,
    liveRequests: 0,
    seen: 0,
    moved: 0,
    lost: 0,
    retracted: 0,
    again: 0,
    judged: 0,
  },
  ...{ omissions: 0, disagreements: 0, reorgDepth: 0, paused: 0, lagBlocks: 0, hasBackfill: false, blockTimeMs: null },
  network: null,
};
