import type { Lease } from '../../../store/chain/network-store.ts';
import { RpcFailure } from '../../rpc/failures.ts';
import type { Node } from '../../rpc/node.ts';
import type { Poll } from '../poll.ts';

/**
 * Notes that the node has another block at finality. The node does not lead until it has the stored block again. If
 * most nodes have another block there, halts the network. Returns whether the network is halted.
 */
export async function noteConflict(poll: Poll, node: Node): Promise<boolean> {
  const { memory, witnesses, nodes, store } = poll.follow;
  const isRepeated = memory.conflicts.has(node.name);
  memory.conflicts.add(node.name);
  if (nodes.count > 1) {
    witnesses.of(node).isOnOtherChain = true;
    node.noteFailure(new RpcFailure('wrong_chain'));
  }
  // A network's only node must show the conflict twice.
  const isHalted = nodes.count === 1 ? isRepeated : memory.conflicts.size >= witnesses.majorityWith(memory.conflicts);
  if (isHalted) await store.halt(poll.lease, reasonOf(poll.lease));
  return isHalted;
}

function reasonOf({ state }: Lease): string {
  const final = state.final === null ? '' : ` block ${state.final} is final, and`;
  return `A reorg went below finality:${final} the nodes have none of the newer blocks that were read.`;
}
