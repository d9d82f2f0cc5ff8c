import type { Consultation } from '../../follow/reader.ts';
import type { Witness } from '../../follow/witnesses/witness.ts';
import { RpcFailure } from '../../rpc/failures.ts';
import type { Node } from '../../rpc/node.ts';
import { slotOf } from '../rpc/calls.ts';
import { noteNode } from './live.ts';
import { type SolanaPoll, waitsForFinal } from './solana-poll.ts';

/** Asks the other nodes for their slots, and chooses the leader. */

const HEADS_MS = 60_000;
/** Another node leads if the leader is this far behind it. Smaller distances change with every call. */
const LAG_SLOTS = 25;

export async function consultOthers(
  poll: SolanaPoll,
  leader: Node,
  { withTags, isBehind }: Consultation,
): Promise<boolean> {
  const { memory, nodes, clock, witnesses } = poll.follow;
  const isDue = withTags || waitsForFinal(poll) || isBehind || clock.nowMs() - memory.headsAskedAtMs >= HEADS_MS;
  if (!isDue || poll.state.tip === null) return false;
  memory.headsAskedAtMs = clock.nowMs();
  await Promise.all(nodes.others(leader).map((node) => askOne(poll, node)));
  witnesses.assess(poll.state.blockTimeMs, poll.lease.nowMs);
  const own = witnesses.of(leader).head?.number ?? 0;
  const lead = ({ head }: Witness) => (head?.number ?? 0) - own;
  const [best] = nodes
    .others(leader)
    .map((node) => witnesses.of(node))
    .filter((witness) => !witness.isImplausible && lead(witness) >= LAG_SLOTS)
    .sort((a, b) => lead(b) - lead(a));
  if (best === undefined) return false;
  witnesses.lead(best.node);
  return true;
}

async function askOne(poll: SolanaPoll, node: Node): Promise<void> {
  const [confirmed, finalized] = [slotOf('confirmed'), slotOf('finalized')];
  try {
    const outcomes = await node.send([confirmed, finalized], 'finality');
    noteNode(poll, node, outcomes.value(confirmed), outcomes.valueOrNull(finalized) ?? undefined);
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
  }
}
