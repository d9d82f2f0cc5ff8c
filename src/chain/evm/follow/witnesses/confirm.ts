import type { BlockRef, FactChange, FoundFact, StoredFact } from '../../../../domain/chain/facts.ts';
import { NO_VOTES, withVote } from '../../../../domain/chain/witnesses.ts';
import { compareFacts, keyOf, missingFacts } from '../../../follow/compare.ts';
import type { Header } from '../../../follow/header.ts';
import { NetworkHalted } from '../../../follow/poll.ts';
import { cutSteps } from '../../../follow/steps.ts';
import { noteConflict } from '../../../follow/witnesses/conflict.ts';
import { RpcFailure } from '../../../rpc/failures.ts';
import type { Node } from '../../../rpc/node.ts';
import { blockAt } from '../../rpc/calls.ts';
import { arrangeAnchors, floorIndex } from '../blocks/anchors.ts';
import { CanonicalBlocks } from '../blocks/canonical.ts';
import { hashesOf, isRefusal, type Reading, readBlocks } from '../blocks/read-blocks.ts';
import { dateExpected } from '../dates.ts';
import type { EvmPoll } from '../evm-poll.ts';
import { findFlood, pauseFlood, pauseRefused } from '../flood.ts';
import { inTurn, waitsAbove } from '../history.ts';
import { headerAt } from '../look.ts';
import type { ConfirmProgress } from '../memory.ts';
import { withVerdicts } from './verdicts.ts';
import { changeOf, type Judged, type Question, takeVotes } from './votes.ts';

/**
 * Finality rises past blocks in three steps. A quorum of nodes has called a height final. A quorum has the same block
 * there. A quorum has shown every fact up to that block, with its log or, if a node left the log out, with the receipt.
 * Paybell retracts a fact that most nodes deny. A fact on which nodes are tied is disputed. Neither keeps finality from
 * rising.
 */

const READINGS = 1;
const READINGS_IN_DOUBT = 5;
const READINGS_A_POLL = 3;
/**
 * Limit on the readings, for nodes that leave out logs at random. The limit itself makes nothing final, because votes
 * decide about each fact.
 */
const MAX_READINGS = 20;

/** Reads the blocks that may become final, and lets finality rise if all steps are done. */
export async function confirmFinality(poll: EvmPoll, leader: Node): Promise<void> {
  const { memory, witnesses, nodes } = poll.follow;
  memory.candidate = candidateOf(poll, witnesses.agree(poll.state).final);
  const target = targetOf(poll, memory.confirm?.target ?? null) ?? targetOf(poll, memory.candidate);
  if (target === null) return;
  if (memory.confirm?.target.hash !== target.hash) {
    // On a fast network, polls only assume that the leader's head descends from the tip. Finality needs proof.
    const isShared = poll.isTipShared || (await headerAt(leader, target))?.hash === target.hash;
    const [readers, others] = [new Set<string>(), new Set<string>()];
    (isShared ? readers : others).add(leader.id);
    memory.confirm = { target, to: target.number, readings: 0, total: 0, readers, others, votes: new Map(), open: [] };
  }
  const progress = memory.confirm;
  const from = (poll.state.final ?? poll.state.anchors.at(-1)?.number ?? target.number) + 1;
  progress.to = Math.min(progress.to, from + nodes.capRange(memory.range.blocks) - 1);
  const { to } = progress;
  const most = Math.max(memory.isInDoubt ? READINGS_A_POLL : 1, witnesses.quorum - 1);
  const before = progress.total;
  for (const node of readersOf(poll, leader)) {
    if (progress.total - before >= most) break;
    if (!(await readUnlessFailing(poll, node, progress, { from, to }))) return;
  }
  if (witnesses.present.length - progress.others.size < witnesses.quorum) {
    // Too few nodes have this block. The next poll starts with the block that is called final then.
    memory.isDisagreeing = true;
    memory.confirm = null;
    return;
  }
  const needed = memory.isInDoubt ? READINGS_IN_DOUBT : READINGS;
  const isRead = (progress.readings >= needed || progress.total >= MAX_READINGS) && progress.open.length === 0;
  if (isRead && progress.readers.size >= witnesses.quorum) await decide(poll, progress, { from, to });
}

type Range = { readonly from: number; readonly to: number };

/** The newest anchor that the nodes agree is final. */
function candidateOf({ state }: EvmPoll, final: number | null): BlockRef | null {
  if (final === null || state.tip === null) return null;
  const most = Math.min(final, state.tip.number);
  const anchor = state.anchors.find(({ number }) => number <= most);
  return anchor !== undefined && anchor.number > (state.final ?? -1) ? anchor : null;
}

/** The block, if it is still an anchor above finality. */
function targetOf({ state }: EvmPoll, block: BlockRef | null): BlockRef | null {
  if (block === null || block.number <= (state.final ?? -1)) return null;
  return state.anchors.find(({ number, hash }) => number === block.number && hash === block.hash) ?? null;
}

/** The nodes to read from, in turn. The leader comes last, because its blocks were read before. */
function readersOf({ follow }: EvmPoll, leader: Node): Node[] {
  const { witnesses, memory } = follow;
  const isOther = (node: Node) => memory.confirm?.others.has(node.id) === true;
  const others = witnesses.present
    .flatMap(({ node, isOnOtherChain }) => (isOnOtherChain ? [] : node))
    .filter((node) => node !== leader && node.waitMs === 0 && !isOther(node));
  if (others.length === 0) return [leader];
  const turn = (memory.confirm?.total ?? 0) % others.length;
  // In doubt, also reads from the leader again, because a new response may have the logs that it left out.
  return [...others.slice(turn), ...others.slice(0, turn), ...(memory.isInDoubt ? [leader] : [])];
}

/** Skips a node that fails. It would be the first one in the next poll too, and finality would wait for it. */
async function readUnlessFailing(poll: EvmPoll, node: Node, progress: ConfirmProgress, range: Range): Promise<boolean> {
  try {
    return await readOnce(poll, node, progress, range);
  } catch (error) {
    if (error instanceof RpcFailure) return true;
    throw error;
  }
}

/** Returns false if this poll cannot continue with the blocks. */
async function readOnce(poll: EvmPoll, node: Node, progress: ConfirmProgress, { from, to }: Range): Promise<boolean> {
  const { memory } = poll.follow;
  const { target } = progress;
  const { contractsPerCall } = memory;
  const wanted = {
    from,
    to,
    sources: poll.sources,
    check: target.number,
    contractsPerCall,
    modes: memory.bookModes,
    purpose: 'finality',
  } as const;
  memory.meter.noteRequest(poll.sources);
  const reading = await readBlocks(node, wanted);
  if (isRefusal(reading)) {
    memory.range.shrink(to - from + 1);
    if (from === to) await pauseRefused(poll, node, to);
    return false;
  }
  const flood = findFlood(reading.logs, poll.sources);
  if (flood.size > 0) {
    await pauseFlood(poll, flood);
    return false;
  }
  // The node is behind. The caller asks another node, and a later poll asks this one again.
  if (reading.header === null) return true;
  if (reading.header.hash !== target.hash) {
    poll.disagreements++;
    progress.others.add(node.id);
    progress.readers.delete(node.id);
    await rejectOtherChain(poll, node);
    return true;
  }
  progress.readers.add(node.id);
  const news = await writeNews(poll, node, progress, { from, to }, reading, reading.header);
  progress.total++;
  progress.readings = news > 0 ? 0 : progress.readings + 1;
  return true;
}

/**
 * Rejects a node that has another block at finality. Above finality, either of two nodes that disagree may be right.
 */
async function rejectOtherChain(poll: EvmPoll, node: Node): Promise<void> {
  const { state } = poll;
  const floor = state.anchors[floorIndex(state.anchors, state.final)];
  if (floor === undefined || state.final === null || floor.number > state.final) return;
  const call = blockAt(floor.number);
  const header = (await node.send([call], 'finality')).valueOrNull(call);
  if (header === null || header.hash === floor.hash) return;
  if (await noteConflict(poll, node)) throw new NetworkHalted();
}

/** Stores the facts that no earlier reading had, and notes the votes of the node. Returns the number of new facts. */
async function writeNews(
  poll: EvmPoll,
  node: Node,
  progress: ConfirmProgress,
  { from, to }: Range,
  reading: Reading,
  header: Header,
): Promise<number> {
  const { store, decoder, memory } = poll.follow;
  const stored = await store.factsIn(poll.lease.networkId, from, to);
  const waits = waitsAbove(poll, Number.POSITIVE_INFINITY);
  const options = { onTaken: memory.meter.noteLog, waits };
  const shown = reading.logs.length === 0 ? [] : await decoder.decode(reading.logs, poll.sources, options);
  for (const { position, ...fact } of shown) {
    const key = `${keyOf(fact)} ${position.blockHash}`;
    progress.votes.set(key, withVote(progress.votes.get(key) ?? NO_VOTES, node.id, true));
  }
  const isOfSource = ({ entityId, sourceId }: FoundFact) =>
    poll.sources.some((source) => source.sourceId === sourceId && source.entityId === entityId);
  const earlier = progress.open.filter(isOfSource);
  const all = [...new Map([...earlier, ...shown].map((fact) => [keyOf(fact), fact])).values()];
  const hashes = hashesOf(reading.logs) ?? new Map<number, string>();
  const blocks = new CanonicalBlocks(hashes.set(header.number, header.hash), Number.POSITIVE_INFINITY);
  const inQuestion = [...missingFacts(all, stored), ...earlier].flatMap(({ position }) => position ?? []);
  await blocks.ask(
    node,
    inQuestion.map(({ blockNumber, blockHash }) => ({ number: blockNumber, hash: blockHash })),
    header,
  );
  const found = all.filter(({ position }) => !blocks.isGone(position));
  const differences = compareFacts({
    found,
    stored,
    known: found.length === 0 ? [] : await poll.factsLike(found),
    isGone: blocks.isGone.bind(blocks),
    head: poll.state.head ?? header.number,
    final: poll.state.final,
    isFollowed: poll.isFollowed,
  });
  if (differences.replacedFrom !== null) memory.noteReorg(from - 1, poll.lease.lost.length > 0);
  const dated = await dateExpected(poll, node, found, differences.changes);
  const { changes, open } = await withVerdicts(poll, progress, inTurn(dated, waits));
  const undecided = new Set(open.map(keyOf));
  progress.open = found.filter((fact) => undecided.has(keyOf(fact)));
  poll.omissions += differences.omissions;
  // Counts the facts that only this response has, because earlier responses left them out.
  memory.noteOmissions(differences.omissions + changes.length + open.length);
  for (const { changes: part } of cutSteps(changes, poll.follow.options.stepChanges)) {
    if (part.length > 0) await poll.commit({ changes: part });
  }
  return changes.length + open.length;
}

/** Asks for the missing votes, and lets finality rise if every fact is decided. */
async function decide(poll: EvmPoll, progress: ConfirmProgress, { from, to }: Range): Promise<void> {
  const { store, witnesses, memory } = poll.follow;
  const stored = await store.factsIn(poll.lease.networkId, from, to);
  const questions = stored.flatMap((fact) => questionOf(fact, progress));
  const open = questions.filter(({ votes }) => witnesses.judge(votes, false) !== 'confirmed');
  const judged = open.length === 0 ? [] : await takeVotes(poll, open);
  for (const one of judged) progress.votes.set(`${keyOf(one)} ${one.position.blockHash}`, one.votes);
  if (judged.some(({ verdict }) => verdict === 'open')) return;
  const changes = judged.flatMap((one) => (one.verdict === 'confirmed' ? [] : (changeOf(one) ?? [])));
  await rise(poll, changes, { final: to, target: progress.target });
  memory.confirm = null;
  memory.isDisagreeing = false;
}

function questionOf(fact: StoredFact, { votes }: ConfirmProgress): Question[] {
  const { position } = fact;
  if (position === null || fact.state === 'final') return [];
  const shown = votes.get(`${keyOf(fact)} ${position.blockHash}`) ?? NO_VOTES;
  const merged = shown.yes.reduce((all, node) => withVote(all, node, true), fact.votes);
  return [{ ...fact, position, votes: shown.no.reduce((all, node) => withVote(all, node, false), merged) }];
}

/** Drops the anchors between the old floor and the confirmed block: no quorum has confirmed them. */
async function rise(
  poll: EvmPoll,
  changes: readonly FactChange[],
  { final, target }: { readonly final: number; readonly target: BlockRef },
): Promise<void> {
  const parts = cutSteps(changes, poll.follow.options.stepChanges);
  const last = parts.pop();
  for (const part of parts) await poll.commit({ changes: part.changes });
  const before = poll.state.final ?? -1;
  const kept = poll.state.anchors.filter(({ number }) => number >= target.number || number <= before);
  const anchors = arrangeAnchors({ kept, added: [], final, pinned: [target] });
  const finalLagMs = learnLag(poll, final);
  await poll.commit({ changes: last?.changes ?? [], anchors, final, finalLagMs });
}

/** The usual time from a block to its finality, as a moving average. */
function learnLag({ state }: EvmPoll, final: number): number | null {
  const { head, blockTimeMs, finalLagMs } = state;
  if (head === null || blockTimeMs === null) return finalLagMs;
  const lagMs = (head - final) * blockTimeMs;
  return Math.round(finalLagMs === null ? lagMs : finalLagMs * 0.9 + lagMs * 0.1);
}

/** How often Paybell asks the nodes again about a payment on which they are tied. */
const REVIEW_MS = 60_000;

/** Asks for votes on facts whose blocks are final although the facts are not. */
export async function reviewUnconfirmed(poll: EvmPoll): Promise<void> {
  const { memory, clock } = poll.follow;
  const { unconfirmed } = poll.lease;
  const isReviewed = clock.nowMs() - memory.reviewedAtMs >= REVIEW_MS;
  if (isReviewed) memory.reviewedAtMs = clock.nowMs();
  const asked = unconfirmed.filter(({ isDisputed }) => !isDisputed || isReviewed);
  const questions = asked.flatMap((fact) => (fact.position === null ? [] : { ...fact, position: fact.position }));
  if (questions.length === 0) return;
  const judged = await takeVotes(poll, questions, isReviewed);
  const isSame = (one: Judged<(typeof questions)[number]>) => one.verdict === 'disputed' && one.isDisputed;
  const changes = judged.flatMap((one) => (isSame(one) ? [] : (changeOf(one) ?? [])));
  for (const { changes: part } of cutSteps(changes, poll.follow.options.stepChanges)) {
    if (part.length > 0) await poll.commit({ changes: part });
  }
}
