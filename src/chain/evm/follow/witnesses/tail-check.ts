import type { BlockRef } from '../../../../domain/chain/facts.ts';
import { NO_VOTES, withVote } from '../../../../domain/chain/witnesses.ts';
import { compareFacts, inOrder, keyOf } from '../../../follow/compare.ts';
import type { Header } from '../../../follow/header.ts';
import { cutSteps } from '../../../follow/steps.ts';
import type { Node } from '../../../rpc/node.ts';
import { chooseAnchor } from '../blocks/anchors.ts';
import { isRefusal, readBlocks } from '../blocks/read-blocks.ts';
import { dateExpected } from '../dates.ts';
import type { EvmPoll } from '../evm-poll.ts';
import { inTurn, waitsAbove } from '../history.ts';
import { withVerdicts } from './verdicts.ts';

/**
 * Reads the tail from another node than the leader now and then. If the leader leaves a payment out of every response,
 * the other node shows it long before its block becomes final. Once both nodes have shown all blocks up to the tip,
 * invoices may expire.
 */
export async function checkTail(poll: EvmPoll, leader: Node): Promise<void> {
  const { memory, nodes, clock, witnesses } = poll.follow;
  const { tip } = poll.state;
  if (tip === null || poll.sources.length === 0 || !memory.isOthersTailDue(tip.number, clock.nowMs())) return;
  const node = nodes.second(leader);
  if (node === null) return;
  memory.othersTail = { tip: tip.number, atMs: clock.nowMs() };
  const header = await readUpTo(poll, node, tip);
  if (header === null) return;
  // A new leader has read only the blocks above the former leader's tip.
  if (memory.readings.next(leader, poll.state) <= tip.number && (await readUpTo(poll, leader, tip)) === null) return;
  memory.readings.noteAgreed(clock.nowMs());
  if (witnesses.mayDate(node, header, poll.lease.nowMs)) await poll.commit({ tipS: header.timestampS });
}

/**
 * Reads the tail and the blocks that the node has not shown, as far as one call goes. Null if the reading decides
 * nothing.
 */
async function readUpTo(poll: EvmPoll, node: Node, tip: BlockRef): Promise<Header | null> {
  const { memory, decoder, store } = poll.follow;
  const rangeBlocks = node.logRange.cap(memory.range.blocks);
  const anchor = chooseAnchor(poll.state, { rangeBlocks, highest: null, isTail: true });
  if (anchor === null) return null;
  const next = memory.readings.next(node, poll.state);
  const tailFrom = Math.max(anchor.number, poll.state.final ?? 0) + 1;
  const range = { from: Math.min(tailFrom, Math.max(next, tip.number - rangeBlocks + 1)), to: tip.number };
  const { contractsPerCall, bookModes: modes } = memory;
  const { sources } = poll;
  const wanted = { ...range, sources, check: tip.number, contractsPerCall, modes, purpose: 'tail' } as const;
  memory.meter.noteRequest(poll.sources);
  const reading = await readBlocks(node, wanted);
  // Gives up for now: the leader has read these blocks, and the next check is soon.
  if (isRefusal(reading) || reading.header?.hash !== tip.hash) return null;
  const waits = waitsAbove(poll, range.from);
  const found =
    reading.logs.length === 0
      ? []
      : await decoder.decode(reading.logs, poll.sources, { onTaken: memory.meter.noteLog, waits });
  const { changes, omissions } = compareFacts({
    found,
    stored: await store.factsIn(poll.lease.networkId, range.from, range.to),
    known: found.length === 0 ? [] : await poll.factsLike(found),
    isGone: () => false,
    head: poll.state.head ?? tip.number,
    final: poll.state.final,
    isFollowed: poll.isFollowed,
  });
  const vote = withVote(NO_VOTES, node.id, true);
  const votes = new Map(found.map((fact) => [`${keyOf(fact)} ${fact.position.blockHash}`, vote]));
  const dated = await dateExpected(poll, node, found, changes);
  const judged = await withVerdicts(poll, { votes }, inTurn(dated, waits));
  poll.omissions += omissions;
  memory.noteOmissions(omissions + judged.changes.length + judged.open.length);
  for (const { changes: part } of cutSteps(inOrder(judged.changes), poll.follow.options.stepChanges)) {
    if (part.length > 0) await poll.commit({ changes: part });
  }
  // No invoice may expire while its payment is undecided. The next check asks for the payment again.
  if (judged.open.length > 0) return null;
  memory.readings.note(node, { from: Math.min(range.from, next), to: range.to }, poll.state);
  return reading.header;
}
