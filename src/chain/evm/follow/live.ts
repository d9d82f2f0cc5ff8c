import type { BlockRef, FactChange, FoundFact } from '../../../domain/chain/facts.ts';
import type { Step } from '../../../store/chain/network-store.ts';
import { compareFacts, inOrder, missingFacts, positionOf } from '../../follow/compare.ts';
import type { Header } from '../../follow/header.ts';
import { cutSteps } from '../../follow/steps.ts';
import type { Node } from '../../rpc/node.ts';
import type { Log } from '../rpc/types.ts';
import { arrangeAnchors, TAIL_BLOCKS } from './blocks/anchors.ts';
import { CanonicalBlocks } from './blocks/canonical.ts';
import { hashesOf, placeOf, type Reading } from './blocks/read-blocks.ts';
import { dateExpected } from './dates.ts';
import type { EvmFollow, EvmPoll } from './evm-poll.ts';
import { firstLook } from './first-look.ts';
import { backfillsBelow, inTurn, isUnread, tailStart, waitsAbove } from './history.ts';
import { readTail, type Tail } from './live-tail.ts';
import { type Look, lookAt } from './look.ts';
import { askedFacts, judgeReceipts, noteHeldAsked, type Receipts, transactionsToAsk } from './transactions.ts';
import { shownBy } from './witnesses/votes.ts';

export type LiveResult =
  | { readonly kind: 'followed'; readonly look: Look }
  | { readonly kind: 'behind' }
  | { readonly kind: 'minority' }
  | { readonly kind: 'conflict' }
  /** This was the first look, or the next attempt must read fewer blocks or contracts. */
  | { readonly kind: 'again' };

/** How often a poll without news is stored, to show that the network is followed. */
const QUIET_COMMIT_MS = 5_000;

/**
 * Reads the blocks after the tip, and the tail again if that is due. Compares them with the stored facts, and stores
 * the changes.
 */
export async function followLive(poll: EvmPoll, node: Node, withTags: boolean): Promise<LiveResult> {
  const { memory, clock, nodes } = poll.follow;
  const isFirst = poll.state.tip === null;
  const isTail = !isFirst && memory.isTailDue(poll.state.tip?.number ?? 0, clock.nowMs(), nodes.count > 1);
  const result = await lookAt(poll, node, { withTags: withTags || isFirst, isTail });
  if (result.kind !== 'look') return result;
  const { look } = result;
  memory.lowHead = null;
  memory.head = look.head.number;
  if (isFirst) {
    await firstLook(poll, node, look);
    return { kind: 'again' };
  }
  if (!isQuiet(poll, node, look)) {
    const tail = await readTail(poll, node, look);
    if (tail === null) return { kind: 'again' };
    await writeTail(poll, node, tail);
    memory.readings.note(node, { from: tail.from, to: tail.to.number }, poll.state);
    if (isTail) memory.noteTail(tail.to.number, clock.nowMs());
  } else if (clock.nowMs() - memory.committedAtMs >= QUIET_COMMIT_MS) await poll.commit(levelsNow(poll, look));
  memory.shortForks = 0;
  memory.doubts = 0;
  memory.conflicts.delete(node.name);
  memory.agreed = look.agreed;
  return { kind: 'followed', look };
}

/** Whether there is nothing to read and nothing to ask for: the head is the tip. */
function isQuiet(poll: EvmPoll, node: Node, look: Look): boolean {
  const { tip } = poll.state;
  if (look.head.hash !== tip?.hash || look.agreed?.hash !== tip.hash) return false;
  if (poll.sources.some(({ lastBlock }) => lastBlock === null)) return false;
  const most = node.logRange.cap(poll.follow.memory.range.blocks);
  return tailStart(poll, tip.number + 1, most) > tip.number && transactionsToAsk(poll, look.head.hash).length === 0;
}

async function writeTail(poll: EvmPoll, node: Node, tail: Tail): Promise<void> {
  const { look, to, reading } = tail;
  const { store, memory, decoder } = poll.follow;
  const { networkId } = poll.lease;
  const isToHead = to.number === look.head.number;
  const stored = await store.factsIn(networkId, tail.from, isToHead ? Number.MAX_SAFE_INTEGER : to.number);
  const logs = withReceipts(reading, to.number);
  const waits = waitsAbove(poll, tail.from);
  const decoded =
    logs.length === 0 ? [] : await decoder.decode(logs, poll.sources, { onTaken: memory.meter.noteLog, waits });
  const hashes = new Map([...look.hashes, ...(hashesOf(reading.logs) ?? []), [to.number, to.hash]]);
  const blocks = new CanonicalBlocks(hashes, isToHead ? to.number : Number.POSITIVE_INFINITY);
  await blocks.ask(node, blocksInQuestion(tail, decoded, stored), to);
  const found = decoded.filter(({ position }) => !blocks.isGone(position));
  const known = found.length === 0 ? [] : await poll.factsLike(found);
  const { head } = look;
  const { final } = poll.state;
  const differences = compareFacts({
    ...{ found, stored, known, head: head.number, final },
    isGone: blocks.isGone.bind(blocks),
    isFollowed: poll.isFollowed,
    isUnread: (fact) => isUnread(poll, fact),
  });
  const receipts: Receipts = {
    receipts: reading.receipts,
    isCanonical: ({ blockNumber, blockHash }) =>
      blockNumber <= to.number && !blocks.isGone({ blockNumber, blockHash, logIndex: 0 }),
  };
  const receiptChanges = judgeReceipts(poll, receipts);
  poll.omissions += differences.omissions;
  memory.noteOmissions(differences.omissions);
  noteReorg(poll, tail, differences.replacedFrom);
  noteHeldAsked(poll, head.hash, receipts);
  const dated = await dateExpected(poll, node, found, differences.changes);
  const changes = inTurn(dated, waits);
  await writeSteps(poll, node, tail, shownBy(poll, node, inOrder([...receiptChanges, ...changes])), {
    anchors: anchorsAfter(poll, tail, blocks, differences.replacedFrom !== null),
    backfilled: backfillsBelow(poll, tail.from),
    asked: askedFacts(poll, reading.receipts),
  });
}

/**
 * The logs of the blocks and of the receipts, each once. If a receipt names another block than the logs of its
 * transaction, the logs decide, because the receipt may come from a node on another branch.
 */
function withReceipts({ logs, receipts }: Reading, to: number): readonly Log[] {
  if (receipts.size === 0) return logs;
  const blockOf = new Map(logs.map(({ transactionHash, blockHash }) => [transactionHash, blockHash]));
  const ofReceipts = [...receipts.values()].flatMap((receipt) => {
    if (receipt === null || receipt.blockNumber > to) return [];
    const { transactionHash, blockHash } = receipt;
    if ((blockOf.get(transactionHash) ?? blockHash) !== blockHash) return [];
    return receipt.logs.filter((log) => log.transactionHash === transactionHash && log.blockHash === blockHash);
  });
  const all = [...logs, ...ofReceipts];
  return [...new Map(all.map((log) => [placeOf(log), log])).values()];
}

/** Blocks of stored facts that were not found, and blocks that receipts name. */
function blocksInQuestion({ reading }: Tail, found: readonly FoundFact[], stored: Parameters<typeof missingFacts>[1]) {
  const missing = missingFacts(found, stored).flatMap(({ position }) => position ?? []);
  const named = [...reading.receipts.values()].flatMap((receipt) => receipt ?? []);
  return [...missing, ...named].map(
    ({ blockNumber, blockHash }): BlockRef => ({ number: blockNumber, hash: blockHash }),
  );
}

function noteReorg(poll: EvmPoll, { look: { agreed, isTipReplaced }, from }: Tail, replacedFrom: number | null): void {
  const tip = poll.state.tip?.number ?? 0;
  const { memory } = poll.follow;
  const hasLost = poll.lease.lost.length > 0;
  if (!hasLost) memory.reorgBase = null;
  if (isTipReplaced || replacedFrom !== null) memory.noteReorg(Math.min(from - 1, agreed?.number ?? from - 1), hasLost);
  const depth = isTipReplaced && agreed !== null ? tip - agreed.number : 0;
  poll.reorgDepth = Math.max(depth, replacedFrom === null ? 0 : tip - replacedFrom + 1);
}

/**
 * The anchors after this poll: blocks that the node agreed with, newer blocks that nothing contradicts, and the new
 * tip.
 */
function anchorsAfter(poll: EvmPoll, tail: Tail, blocks: CanonicalBlocks, isReorg: boolean): BlockRef[] {
  const { look, to, reading } = tail;
  const agreed = look.agreed?.number ?? 0;
  const stands = ({ number, hash }: BlockRef) => (blocks.hashAt(number) ?? hash) === hash;
  const kept = poll.state.anchors.filter((anchor) => {
    if (anchor.number <= agreed) return true;
    return !look.isTipReplaced && !isReorg && anchor.number < to.number && stands(anchor);
  });
  const added: BlockRef[] = [];
  const { finalized } = look;
  if (finalized !== null && finalized.number <= to.number && finalized.number > (poll.state.final ?? -1)) {
    added.push({ number: finalized.number, hash: finalized.hash });
  }
  const deep = reading.logs.filter(({ blockNumber }) => blockNumber > agreed && blockNumber <= to.number - TAIL_BLOCKS);
  const newest = deep.reduce<Log | null>(
    (best, log) => (log.blockNumber > (best?.blockNumber ?? 0) ? log : best),
    null,
  );
  if (newest !== null) added.push({ number: newest.blockNumber, hash: newest.blockHash });
  added.push({ number: to.number, hash: to.hash });
  const { candidate, confirm } = poll.follow.memory;
  return arrangeAnchors({ kept, added, final: poll.state.final, pinned: [finalized, candidate, confirm?.target] });
}

/**
 * Only the last step stores the progress of backfills. Until then, a source that joins the tail is stored as behind, so
 * that the next poll reads its blocks again after a failed step. They are below the newest anchor, where polls do not
 * read otherwise.
 */
async function writeSteps(
  poll: EvmPoll,
  node: Node,
  { look, to }: Tail,
  changes: readonly FactChange[],
  last: Pick<Step, 'anchors' | 'backfilled' | 'asked'>,
): Promise<void> {
  const { follow, lease } = poll;
  const levels = { ...levelsNow(poll, look), head: await countedHead(poll, look, to) };
  const agreed = look.agreed?.number ?? 0;
  const parts = cutSteps(changes, follow.options.stepChanges);
  const final = parts.pop();
  for (const part of parts) {
    const tip = part.tip !== null && part.tip.number > agreed && part.tip.number < to.number ? part.tip : null;
    const anchors = last.anchors.filter(({ number }) => number <= agreed);
    const moved = tip === null ? {} : { tip, anchors: [tip, ...anchors] };
    // Until all lost payments are written, no payment gains confirmations.
    const isLoss = part.changes.every((change) => positionOf(change) === null);
    const head = isLoss ? (poll.state.head ?? levels.head) : levels.head;
    await poll.commit({ ...levels, head, changes: part.changes, ...moved });
  }
  const tip = { number: to.number, hash: to.hash };
  await poll.commit({
    ...levels,
    ...last,
    changes: final?.changes ?? [],
    tip,
    ...(isAlone(follow) && follow.witnesses.mayDate(node, to, lease.nowMs) && { tipS: to.timestampS }),
    safe: safeUpTo(poll, to.number),
  });
}

/** Whether no second node checks the leader's readings. Otherwise the tip gets its time from the node that checks. */
function isAlone({ nodes, memory, clock }: EvmFollow): boolean {
  return nodes.count === 1 || memory.readings.isAlone(clock.nowMs());
}

/**
 * The newest block that a quorum calls safe, at most the last block read. Null while nodes have different blocks, so
 * that the stored block does not rise.
 */
function safeUpTo({ state, follow }: EvmPoll, to: number): number | null {
  const { safe } = follow.witnesses.agree(state);
  return safe === null || follow.memory.isDisagreeing ? null : Math.min(safe, to);
}

function levelsNow({ state, lease, follow }: EvmPoll, { head, blockTimeMs }: Look): Partial<Step> {
  const learnedDepth = follow.witnesses.learn(state.learnedDepth, lease.nowMs);
  return { blockTimeMs, headS: head.timestampS, learnedDepth };
}

/**
 * The head from which facts count their confirmations. After a deep reorg, facts may be stored above the blocks that
 * were read. They may be gone, so they gain no confirmation until their blocks are read.
 */
async function countedHead(poll: EvmPoll, { head }: Look, to: Header): Promise<number> {
  poll.lagBlocks = head.number - to.number;
  if (to.number === head.number) return head.number;
  const above = await poll.follow.store.factsIn(poll.lease.networkId, to.number + 1, Number.MAX_SAFE_INTEGER);
  return above.length > 0 ? to.number : head.number;
}
