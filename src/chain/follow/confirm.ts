import type { BlockRef, FactChange } from '../../domain/chain/facts.ts';
import { blockAt } from '../rpc/calls.ts';
import { RpcFailure } from '../rpc/failures.ts';
import { BEHIND_LIMIT, type Node } from '../rpc/node.ts';
import type { Header } from '../rpc/types.ts';
import { arrangeAnchors, floorIndex } from './blocks/anchors.ts';
import { CanonicalBlocks } from './blocks/canonical.ts';
import { hashesOf, isRefusal, type Reading, readBlocks } from './blocks/read-blocks.ts';
import { compareFacts, missingFacts } from './compare.ts';
import { finalNumberOf } from './first-look.ts';
import { floodingContracts, pauseContracts, pauseFlood } from './flood.ts';
import { inTurn } from './history.ts';
import type { Look } from './look.ts';
import type { ConfirmProgress } from './memory.ts';
import type { Poll } from './poll.ts';
import { cutSteps } from './steps.ts';

/**
 * Finality rises past blocks after a second opinion on them: another node has the same block at that height, and the facts of
 * its logs are stored too. With one node, that one is asked again by a later poll. Nodes leave logs out and do not invent
 * them: where one was caught at it, more responses are read before the blocks are left for good.
 */

const READINGS = 1;
const READINGS_IN_DOUBT = 5;
/** Finality rises in the end, also where every response has something new. */
const MAX_READINGS = 20;

/** One more response about the blocks that are to become final; nothing where there are none. */
export async function confirmFinality(poll: Poll, reader: Node, look: Look): Promise<void> {
  const { memory, nodes } = poll.follow;
  const before = memory.candidate;
  const now = candidateOf(poll, finalNumberOf(poll, look));
  memory.candidate = now;
  const other = nodes.second(reader);
  const target = targetOf(poll, memory.confirm?.target ?? null) ?? targetOf(poll, other === null ? before : now);
  if (target === null) return;
  if (memory.confirm?.target.hash !== target.hash) memory.confirm = { target, readings: 0, total: 0, unanswered: 0 };
  const { total, unanswered } = memory.confirm;
  // In doubt both nodes are asked in turn.
  const isOwnTurn = other === null || total % 2 === 1 || unanswered >= BEHIND_LIMIT;
  await readOnce(poll, isOwnTurn ? reader : other, memory.confirm);
}

/** The newest anchor that the network says is final. */
function candidateOf({ state }: Poll, final: number | null): BlockRef | null {
  if (final === null || state.tip === null) return null;
  const most = Math.min(final, state.tip.number);
  const anchor = state.anchors.find(({ number }) => number <= most);
  return anchor !== undefined && anchor.number > (state.final ?? -1) ? anchor : null;
}

/** The block if it still is an anchor above finality. */
function targetOf({ state }: Poll, block: BlockRef | null): BlockRef | null {
  if (block === null || block.number <= (state.final ?? -1)) return null;
  return state.anchors.find(({ number, hash }) => number === block.number && hash === block.hash) ?? null;
}

async function readOnce(poll: Poll, node: Node, progress: ConfirmProgress): Promise<void> {
  const { memory } = poll.follow;
  const { target } = progress;
  const from = (poll.state.final ?? poll.state.anchors.at(-1)?.number ?? target.number) + 1;
  const to = Math.min(target.number, from + node.logRange.cap(memory.range.blocks) - 1);
  const { contractsPerCall } = memory;
  const reading = await readBlocks(node, { from, to, sources: poll.sources, check: target.number, contractsPerCall });
  if (isRefusal(reading)) {
    memory.range.shrink(to - from + 1);
    if (from === to) await pauseFlood(poll, node, to);
    return;
  }
  const flooding = floodingContracts(reading.logs);
  if (flooding.size > 0) return pauseContracts(poll, flooding);
  if (reading.header === null) {
    progress.unanswered++;
    return;
  }
  if (reading.header.hash !== target.hash) {
    poll.disagreements++;
    memory.confirm = null;
    return rejectOtherChain(poll, node);
  }
  const changes = await changesIn(poll, node, { from, to, reading, header: reading.header });
  progress.total++;
  progress.readings = changes.length > 0 ? 0 : progress.readings + 1;
  const needed = memory.isInDoubt ? READINGS_IN_DOUBT : READINGS;
  const isConfirmed = progress.readings >= needed || progress.total >= MAX_READINGS;
  await write(poll, changes, isConfirmed ? { final: to, target } : null);
}

/** Of two nodes that disagree above finality, either may be right. One that has another block at finality is not. */
async function rejectOtherChain({ state }: Poll, node: Node): Promise<void> {
  const floor = state.anchors[floorIndex(state.anchors, state.final)];
  if (floor === undefined || state.final === null || floor.number > state.final) return;
  const call = blockAt(floor.number);
  const header = (await node.send([call])).valueOrNull(call);
  if (header !== null && header.hash !== floor.hash) node.noteFailure(new RpcFailure('wrong_chain'));
}

type Read = { readonly from: number; readonly to: number; readonly reading: Reading; readonly header: Header };

async function changesIn(poll: Poll, node: Node, { from, to, reading, header }: Read): Promise<readonly FactChange[]> {
  const { store, decoder, memory } = poll.follow;
  const stored = await store.factsIn(poll.lease.networkId, from, to);
  const found = reading.logs.length === 0 ? [] : await decoder.decode(reading.logs, poll.sources);
  const hashes = hashesOf(reading.logs) ?? new Map<number, string>();
  const blocks = new CanonicalBlocks(hashes.set(header.number, header.hash), Number.POSITIVE_INFINITY);
  const missing = missingFacts(found, stored).flatMap(({ position }) => position ?? []);
  const inQuestion = missing.map(({ blockNumber, blockHash }) => ({ number: blockNumber, hash: blockHash }));
  await blocks.ask(node, inQuestion, header);
  const differences = compareFacts({
    found,
    stored,
    known: found.length === 0 ? [] : await poll.factsLike(found),
    isGone: blocks.isGone.bind(blocks),
    head: poll.state.head ?? header.number,
    final: poll.state.final,
    isFollowed: poll.isFollowed,
  });
  const changes = inTurn(poll, differences.changes, Number.POSITIVE_INFINITY);
  poll.omissions += differences.omissions;
  // What this response has and no earlier one had was left out before.
  memory.noteOmissions(differences.omissions + changes.length);
  return changes;
}

/** Anchors between the old floor and the confirmed block are not needed any more, and were confirmed by no one. */
async function write(
  poll: Poll,
  changes: readonly FactChange[],
  confirmed: { readonly final: number; readonly target: BlockRef } | null,
): Promise<void> {
  const parts = cutSteps(changes, poll.follow.options.stepChanges);
  const last = parts.pop();
  for (const part of parts) await poll.commit({ changes: part.changes });
  if (confirmed === null) {
    if (last !== undefined && last.changes.length > 0) await poll.commit({ changes: last.changes });
    return;
  }
  const { final, target } = confirmed;
  const before = poll.state.final ?? -1;
  const kept = poll.state.anchors.filter(({ number }) => number >= target.number || number <= before);
  const anchors = arrangeAnchors({ kept, added: [], final, pinned: [target] });
  await poll.commit({ changes: last?.changes ?? [], anchors, final });
  poll.follow.memory.confirm = null;
}
