import type { BlockRef } from '../../../../domain/chain/facts.ts';
import type { Header } from '../../../follow/header.ts';
import { NetworkHalted } from '../../../follow/poll.ts';
import { noteConflict } from '../../../follow/witnesses/conflict.ts';
import type { Witness } from '../../../follow/witnesses/witness.ts';
import { Witnesses } from '../../../follow/witnesses/witnesses.ts';
import type { Call } from '../../../rpc/call.ts';
import { RpcFailure } from '../../../rpc/failures.ts';
import type { Node } from '../../../rpc/node.ts';
import { blockAt, taggedBlock } from '../../rpc/calls.ts';
import { floorIndex } from '../blocks/anchors.ts';
import type { EvmPoll } from '../evm-poll.ts';

/**
 * Asks the nodes other than the leader for their heads, and chooses the leader. The leader stays for some time unless
 * it fails, lags or freezes, so that small differences between nodes do not make Paybell change back and forth.
 */

/** How often the other nodes are asked for their heads, if nothing requires it earlier. */
const HEADS_MS = 60_000;
const LEADS_MS = 30_000;
const LAG_BLOCKS = 2;

/** Whether to ask the other nodes for their heads: the leader stands still or is behind the tip, or `HEADS_MS` have passed. */
export function areHeadsDue({ follow, state }: EvmPoll, isBehind: boolean): boolean {
  const { memory, witnesses, nodes, clock } = follow;
  if (nodes.count === 1) return false;
  const nowMs = clock.nowMs();
  if (isBehind || nowMs - memory.headsAskedAtMs >= HEADS_MS) return true;
  const { preferred } = nodes;
  const changedAtMs = preferred === undefined ? nowMs : witnesses.of(preferred).changedAtMs;
  const frozenMs = Witnesses.frozenMs(state.blockTimeMs);
  // The longer the head stands still, the less often the others are asked: at first after three block times.
  const waitMs = Math.min(HEADS_MS, Math.max(frozenMs, (memory.headsAskedAtMs - changedAtMs) / 2));
  return nowMs - changedAtMs >= frozenMs && nowMs - memory.headsAskedAtMs >= waitMs;
}

/** Asks the other nodes for their heads, and for what they call final if `withTags`. Skips a node that fails. */
export async function askOthers(poll: EvmPoll, leader: Node, withTags: boolean): Promise<void> {
  const { memory, nodes, clock } = poll.follow;
  memory.headsAskedAtMs = clock.nowMs();
  await Promise.all(nodes.others(leader).map((node) => askOne(poll, node, withTags)));
}

async function askOne(poll: EvmPoll, node: Node, withTags: boolean): Promise<void> {
  const { witnesses, habits } = poll.follow;
  const witness = witnesses.of(node);
  const [latest, finalized, safe] = [taggedBlock('latest'), taggedBlock('finalized'), taggedBlock('safe')];
  const isApart = witness.isOnOtherChain || witness.isOnOtherBranch(poll.state.anchors);
  const floor = isApart ? floorOf(poll) : null;
  const atFloor = floor === null ? null : blockAt(floor.number);
  const calls: Call<unknown>[] = [
    latest,
    ...(withTags ? [finalized] : []),
    ...(withTags && habits.asksSafe ? [safe] : []),
    ...(atFloor === null ? [] : [atFloor]),
  ];
  try {
    const outcomes = await node.send(calls, withTags ? 'finality' : 'head');
    const head = outcomes.value(latest);
    if (head === null) return;
    witnesses.noteHead(node, head);
    if (withTags) {
      const safeBlock = habits.asksSafe ? outcomes.valueOrNull(safe) : null;
      const tags = { finalized: outcomes.valueOrNull(finalized), safe: safeBlock };
      witnesses.noteTags(node, head, tags);
    }
    if (atFloor !== null) await compareFloor(poll, node, floor, outcomes.valueOrNull(atFloor));
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
  }
}

/** The newest anchor that is final; null if there is none. */
function floorOf({ state: { anchors, final } }: EvmPoll): BlockRef | null {
  const floor = anchors[floorIndex(anchors, final)];
  return floor === undefined || final === null || floor.number > final ? null : floor;
}

async function compareFloor(poll: EvmPoll, node: Node, floor: BlockRef | null, header: Header | null): Promise<void> {
  if (floor === null || header === null) return;
  if (header.hash !== floor.hash) {
    if (await noteConflict(poll, node)) throw new NetworkHalted();
    return;
  }
  poll.follow.witnesses.of(node).isOnOtherChain = false;
  poll.follow.memory.conflicts.delete(node.name);
}

/** Chooses the leader among the nodes that can be asked. Returns whether the leader has changed. */
export async function elect(poll: EvmPoll, leader: Node): Promise<boolean> {
  const { witnesses, nodes, clock } = poll.follow;
  witnesses.assess(poll.state.blockTimeMs, poll.lease.nowMs);
  const current = witnesses.of(leader);
  const isFrozen = current.isFrozen(Witnesses.frozenMs(poll.state.blockTimeMs));
  const isBad = current.isImplausible || witnesses.isDistrusted(current);
  const stays = clock.nowMs() - witnesses.ledSinceMs < LEADS_MS && !isFrozen;
  const lead = ({ head }: Witness) => (head?.number ?? 0) - (current.head?.number ?? 0);
  const candidates = nodes
    .others(leader)
    .map((node) => witnesses.of(node))
    .filter((witness) => !witness.isOnOtherChain && !witness.isImplausible && !witnesses.isDistrusted(witness))
    // Almost any node is better than one that lies.
    .filter((witness) => current.isImplausible || lead(witness) >= (isBad ? -LAG_BLOCKS : stays ? LAG_BLOCKS : 1))
    .sort((a, b) => lead(b) - lead(a));
  for (const { node } of candidates) {
    if (!isFrozen && !(await hasOurBranch(poll, node))) continue;
    witnesses.lead(node);
    return true;
  }
  return false;
}

/** Whether the node has the newest anchor that it can have. A node with another block there is on another branch. */
async function hasOurBranch({ state, follow }: EvmPoll, node: Node): Promise<boolean> {
  const { head } = follow.witnesses.of(node);
  const anchor = state.anchors.find(({ number }) => number <= (head?.number ?? 0));
  if (anchor === undefined) return true;
  if (head?.hash === anchor.hash || head?.parentHash === anchor.hash) return true;
  const call = blockAt(anchor.number);
  try {
    return (await node.send([call], 'head')).valueOrNull(call)?.hash === anchor.hash;
  } catch (error) {
    if (error instanceof RpcFailure) return false;
    throw error;
  }
}

/**
 * Whether to follow a leader that has replaced a stored block. Follows it if a quorum has other blocks there. Otherwise
 * the stored branch stays while a node that is not frozen still has it, and that node leads. Without such a node,
 * follows the leader.
 */
export async function mayFollowReorg(poll: EvmPoll, leader: Node, replaced: BlockRef, head: number): Promise<boolean> {
  const { witnesses, nodes } = poll.follow;
  const { blockTimeMs } = poll.state;
  if (nodes.count === 1) return true;
  const call = () => blockAt(replaced.number);
  const asked = nodes.others(leader).filter((node) => !witnesses.of(node).isOnOtherChain);
  const hashes = await Promise.all(asked.map((node) => hashAt(node, call())));
  const isStill = (node: Node) => {
    const witness = witnesses.of(node);
    return witness.isFrozen(Witnesses.frozenMs(blockTimeMs)) && (witness.head?.number ?? 0) < head;
  };
  const staying = asked.filter((node, index) => hashes[index] === replaced.hash && !isStill(node));
  const moved = 1 + hashes.filter((hash) => hash !== null && hash !== replaced.hash).length;
  const [first] = staying;
  poll.follow.memory.isDisagreeing = first !== undefined && moved < witnesses.quorum;
  if (first === undefined || moved >= witnesses.quorum) return true;
  witnesses.lead(first);
  return false;
}

/** Whether following may start at this block: a quorum has it, or no other node has another block at its height. */
export async function mayStartAt(poll: EvmPoll, leader: Node, { number, hash }: BlockRef): Promise<boolean> {
  const { witnesses, nodes, memory } = poll.follow;
  const hashes = await Promise.all(nodes.others(leader).map((node) => hashAt(node, blockAt(number))));
  const same = 1 + hashes.filter((other) => other === hash).length;
  const isContradicted = hashes.some((other) => other !== null && other !== hash);
  memory.isDisagreeing = isContradicted && same < witnesses.quorum;
  return !memory.isDisagreeing;
}

async function hashAt(node: Node, call: ReturnType<typeof blockAt>): Promise<string | null> {
  try {
    return (await node.send([call], 'head')).valueOrNull(call)?.hash ?? null;
  } catch (error) {
    if (error instanceof RpcFailure) return null;
    throw error;
  }
}
