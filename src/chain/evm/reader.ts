import type { Follow } from '../follow/poll.ts';
import type { ChainReader, Consultation, ReadResult } from '../follow/reader.ts';
import type { Node } from '../rpc/node.ts';
import { readBalances } from './coin/balances.ts';
import { isCoinSource, MAX_COIN_BLOCKS } from './coin/coin-blocks.ts';
import type { Decoder } from './decode/decoder.ts';
import { backfillOnce, hasBackfill } from './follow/backfill.ts';
import { MAX_BLOCKS } from './follow/blocks/block-range.ts';
import { ETHEREUM_HABITS, type EvmFollow, type EvmHabits, type EvmPoll } from './follow/evm-poll.ts';
import { followLive } from './follow/live.ts';
import { EvmMemory } from './follow/memory.ts';
import { confirmFinality, reviewUnconfirmed } from './follow/witnesses/confirm.ts';
import { areHeadsDue, askOthers, elect } from './follow/witnesses/consult.ts';
import { traceLost } from './follow/witnesses/lost.ts';
import { checkTail } from './follow/witnesses/tail-check.ts';

/** Reads a network whose contracts write logs. */
export class EvmReader implements ChainReader {
  readonly catchesUp = true;

  constructor(
    private readonly decoder: Decoder,
    private readonly habits: EvmHabits = ETHEREUM_HABITS,
    /** Whether the network pays only addresses that it is asked for. */
    private readonly isPractice = false,
  ) {}

  prepare(follow: Omit<Follow, 'memory'>): EvmFollow {
    const { decoder, habits } = this;
    return { ...follow, decoder, habits, memory: new EvmMemory(this.isPractice) };
  }

  follow(poll: EvmPoll, node: Node, withTags: boolean): Promise<ReadResult> {
    poll.follow.memory.range.most = poll.sources.some(isCoinSource) ? MAX_COIN_BLOCKS : MAX_BLOCKS;
    return followLive(poll, node, withTags);
  }

  async consult(poll: EvmPoll, leader: Node, { withTags, isBehind }: Consultation): Promise<boolean> {
    if (poll.state.tip === null || (!withTags && !areHeadsDue(poll, isBehind))) return false;
    await askOthers(poll, leader, withTags);
    return elect(poll, leader);
  }

  checks(poll: EvmPoll, leader: Node): readonly (() => Promise<void>)[] {
    return [checkTail, traceLost, confirmFinality, reviewUnconfirmed, readBalances].map(
      (check) => () => check(poll, leader),
    );
  }

  backfill(poll: EvmPoll, node: Node): Promise<void> {
    return backfillOnce(poll, node);
  }

  hasBackfill(poll: EvmPoll): boolean {
    return hasBackfill(poll);
  }
}
