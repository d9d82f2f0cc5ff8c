import { NO_VOTES, withVote } from '../../../../domain/chain/witnesses.ts';
import { compareFacts, inOrder, keyOf } from '../../../follow/compare.ts';
import { cutSteps } from '../../../follow/steps.ts';
import type { Node } from '../../../rpc/node.ts';
import { chooseAnchor } from '../blocks/anchors.ts';
import { isRefusal, readBlocks } from '../blocks/read-blocks.ts';
import { dateExpected } from '../dates.ts';
import type { EvmPoll } from '../evm-poll.ts';
import { inTurn } from '../history.ts';
import { withVerdicts } from './verdicts.ts';

/**
 * Reads the tail from another node than the leader now and then. It finds payments that the leader leaves out of every
 * response long before their blocks become final.
 */
export async function checkTail(poll: EvmPoll, leader: Node): Promise<void> {
  const { memory, nodes, clock, decoder, store } = poll.follow;
  const { tip } = poll.state;
  if (tip === null || poll.sources.length === 0 || !memory.isOthersTailDue(tip.number, clock.nowMs())) return;
  const node = nodes.second(leader);
  const rangeBlocks = node?.logRange.cap(memory.range.blocks) ?? 1;
  const anchor = chooseAnchor(poll.state, { rangeBlocks, highest: null, isTail: true });
  if (node === null || anchor === null) return;
  memory.othersTail = { tip: tip.number, atMs: clock.nowMs() };
  const { contractsPerCall, bookModes: modes } = memory;
  const range = { from: Math.max(anchor.number, poll.state.final ?? 0) + 1, to: tip.number };
  const { sources } = poll;
  const wanted = { ...range, sources, check: tip.number, contractsPerCall, modes, purpose: 'tail' } as const;
  memory.meter.noteRequest(poll.sources);
  const reading = await readBlocks(node, wanted);
  // The node is behind or on another branch: the leader has read these blocks, and the next check is soon.
  if (isRefusal(reading) || reading.header?.hash !== tip.hash) return;
  const found = reading.logs.length === 0 ? [] : await decoder.decode(reading.logs, poll.sources, memory.meter.noteLog);
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
  const judged = await withVerdicts(poll, { votes }, inTurn(poll, dated, range.from));
  poll.omissions += omissions;
  memory.noteOmissions(omissions + judged.changes.length);
  for (const { changes: part } of cutSteps(inOrder(judged.changes), poll.follow.options.stepChanges)) {
    if (part.length > 0) await poll.commit({ changes: part });
  }
}
