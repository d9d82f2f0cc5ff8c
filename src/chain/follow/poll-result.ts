import type { NodeHealth } from '../../store/chain/network-store.ts';
import type { ChangeCounts } from './poll.ts';

/**
 * | outcome    | meaning                                                                                  |
 * |------------|------------------------------------------------------------------------------------------|
 * | `followed` | the network was read up to a block and compared                                          |
 * | `behind`   | the node has not got the tip yet                                                         |
 * | `in_doubt` | two responses contradict each other; nothing was changed                                 |
 * | `failed`   | no node could be asked                                                                   |
 * | `halted`   | the network was reorganised below finality, and an operator has to resume it             |
 * | `idle`     | another instance follows the network                                                     |
 */
export type PollOutcome = 'followed' | 'behind' | 'in_doubt' | 'failed' | 'halted' | 'idle';

export type PollResult = ChangeCounts & {
  readonly outcome: PollOutcome;
  /** Calls of this poll, including its second opinion and its backfill. */
  readonly calls: number;
  readonly requests: number;
  /** Calls of only the live part. */
  readonly liveCalls: number;
  readonly liveRequests: number;
  readonly omissions: number;
  readonly disagreements: number;
  readonly reorgDepth: number;
  readonly paused: number;
  /** Blocks between the tip and the head. */
  readonly lagBlocks: number;
  readonly hasBackfill: boolean;
  readonly blockTimeMs: number | null;
  /** Null if another instance follows the network. */
  readonly network: NetworkHealth | null;
};

/** The state of a network and its nodes after a poll. Timestamps are in seconds. */
export type NetworkHealth = {
  readonly tipHash: string | null;
  readonly headS: number | null;
  readonly finalS: number | null;
  readonly disputed: number;
  readonly nodes: readonly NodeHealth[];
};
