import type { Lease, NetworkState, Trouble } from '../../../store/chain/network-store.ts';
import type { Memory } from '../memory.ts';
import type { Witnesses } from './witnesses.ts';

const OLD_BLOCKS = 10;
const OLD_MS = 60_000;

/** The age from which a head is old. Local networks have old timestamps, so the head must also have stayed the same. */
function oldHeadMs(blockTimeMs: number | null): number {
  return Math.max(OLD_MS, OLD_BLOCKS * (blockTimeMs ?? 0));
}

/** The parts of a poll that show whether the network stalls. */
type Shown = {
  readonly state: NetworkState;
  readonly lease: Lease;
  readonly follow: { readonly witnesses: Witnesses; readonly memory: Memory };
};

/**
 * The reason why the network stalls, and the node that causes it if it is one node; null if the network does not stall.
 */
export function troubleOf({ state, lease, follow }: Shown, isNewHead: boolean): Trouble | null {
  const { witnesses, memory } = follow;
  const { headS, headChangedAtMs, blockTimeMs } = state;
  const isOld = (sinceMs: number | null) => sinceMs !== null && lease.nowMs - sinceMs > oldHeadMs(blockTimeMs);
  const newestMs = Math.max(...witnesses.all.map(({ head }) => head?.timestampS ?? 0), headS ?? 0) * 1000;
  if (!isNewHead && isOld(headChangedAtMs) && isOld(newestMs)) return { reason: 'head_old', node: null };
  if (memory.isDisagreeing) return { reason: 'nodes_disagree', node: null };
  if (memory.isUndecided) return { reason: 'final_waits', node: null };
  const { present, quorum } = witnesses;
  const useless = present.find(({ isUseless }) => isUseless);
  const speakers = present.filter(({ final, isUseless }) => final !== null && !isUseless).length;
  if (!lease.isWaiting || useless === undefined || speakers >= quorum) return null;
  return { reason: 'final_waits', node: useless.node.name };
}
