import type { Follow, Poll } from '../../follow/poll.ts';
import type { PaymentDecoder } from '../decode/facts.ts';
import type { SolanaMemory } from './memory.ts';

export type SolanaFollow = Follow & {
  readonly payments: PaymentDecoder;
  readonly memory: SolanaMemory;
};

/** One look at Solana. */
export type SolanaPoll = Poll<SolanaFollow>;

/** The least time from one poll to the next, unless the operator sets another one. */
export const POLL_MS = 4_000;
/** The time that the network aims at for a slot. */
export const SLOT_MS = 400;

/** A list or a block comes from a node that has at least this slot. */
export function leastSlot({ state, follow }: SolanaPoll): number | null {
  const slots = [state.head, follow.memory.head].filter((slot) => slot !== null);
  return slots.length === 0 ? null : Math.max(...slots);
}

/** Whether the backfill of a source waits for slots that are not final yet. */
export function waitsForFinal({ sources, state: { final } }: SolanaPoll): boolean {
  return sources.some(({ lastBlock, nextBlock }) => {
    const isPending = lastBlock === null || (nextBlock ?? 0) <= lastBlock;
    return isPending && (lastBlock ?? 0) > (final ?? -1);
  });
}

/** Names a reading in votes. A node that is alone is another voter at another head. */
export function voterOf({ follow }: SolanaPoll, nodeId: string, slot: number): string {
  return isAlone({ follow }) ? `${nodeId} ${slot}` : nodeId;
}

/** Whether one node decides alone. Paybell then asks it in two polls. */
export function isAlone({ follow: { witnesses } }: Pick<SolanaPoll, 'follow'>): boolean {
  return witnesses.quorum === 1;
}

/** The voters that a decision needs. */
export function votersNeeded({ follow: { witnesses } }: Pick<SolanaPoll, 'follow'>): number {
  return Math.max(2, witnesses.quorum);
}
