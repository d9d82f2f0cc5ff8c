import type { Follow, Poll } from '../../follow/poll.ts';
import type { PaymentDecoder } from '../decode/facts.ts';
import type { SolanaMemory } from './memory.ts';

export type SolanaFollow = Follow & {
  readonly payments: PaymentDecoder;
  readonly memory: SolanaMemory;
};

/** One poll of Solana. */
export type SolanaPoll = Poll<SolanaFollow>;

/** The least time from one poll to the next, unless the operator sets another one. */
export const POLL_MS = 4_000;
/** The time that the network aims to take for one slot. */
export const SLOT_MS = 400;

/** The slot that a node must have reached; null before the first poll. */
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

/** The name of a reading in votes. A lone node counts as another voter at each head, so that it can vote twice. */
export function voterOf({ follow }: SolanaPoll, nodeId: string, slot: number): string {
  return isAlone({ follow }) ? `${nodeId} ${slot}` : nodeId;
}

/** Whether one node decides alone. Paybell then asks this node in two polls. */
export function isAlone({ follow: { witnesses } }: Pick<SolanaPoll, 'follow'>): boolean {
  return witnesses.quorum === 1;
}

/** The voters that a decision needs. */
export function votersNeeded({ follow: { witnesses } }: Pick<SolanaPoll, 'follow'>): number {
  return Math.max(2, witnesses.quorum);
}
