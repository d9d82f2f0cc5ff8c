import type { Follow, Poll } from '../../follow/poll.ts';
import type { Decoder } from '../decode/decoder.ts';
import type { EvmMemory } from './memory.ts';

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
