import type { FoundFact } from '../../../domain/chain/facts.ts';
import type { FollowedSource } from '../../../store/chain/network-store.ts';
import type { Follow, Poll } from '../../follow/poll.ts';
import type { Log } from '../rpc/types.ts';
import type { EvmMemory } from './memory.ts';

/** Makes facts of logs; a log that no source takes leads to none. */
export type Decoder = {
  decode(logs: readonly Log[], sources: readonly FollowedSource[], onTaken?: OnTaken): Promise<FoundFact[]>;
  /** The logs by the ids of the facts that they are, whether or not a source takes them. */
  identify(networkId: number, logs: readonly Log[]): ReadonlyMap<string, Log>;
};

/** Called for each log that the topics of a source take, with or without a fact. */
export type OnTaken = (source: FollowedSource) => void;

/** The questions that a family asks of its nodes. */
export type EvmHabits = {
  /** Whether nodes know a block that is safe. */
  readonly asksSafe: boolean;
  /**
   * Whether a poll that asks what is final trusts the node to still have the head that it has just named. If the node does not
   * have it, it leaves out a payment, and the next reading of the tail finds that.
   */
  readonly savesCalls: boolean;
};

export const ETHEREUM_HABITS: EvmHabits = { asksSafe: true, savesCalls: false };

export type EvmFollow = Follow & {
  readonly decoder: Decoder;
  readonly habits: EvmHabits;
  readonly memory: EvmMemory;
};

/** One look at an EVM network. */
export type EvmPoll = Poll<EvmFollow>;
