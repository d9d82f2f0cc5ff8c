import type { Follow, Poll } from '../../follow/poll.ts';
import type { Decoder } from '../decode/decoder.ts';
import type { EvmMemory } from './memory.ts';

/** The questions that Paybell asks the nodes of a family. */
export type EvmHabits = {
  /** Whether nodes know the tag `safe`. */
  readonly asksSafe: boolean;
  /**
   * Whether a poll that asks for the final block saves the check that the node still has its head. If the node no
   * longer has it, the poll may miss a payment, and the next reading of the tail finds the payment.
   */
  readonly savesCalls: boolean;
};

export const ETHEREUM_HABITS: EvmHabits = { asksSafe: true, savesCalls: false };

export type EvmFollow = Follow & {
  readonly decoder: Decoder;
  readonly habits: EvmHabits;
  readonly memory: EvmMemory;
};

/** One poll of an EVM network. */
export type EvmPoll = Poll<EvmFollow>;
