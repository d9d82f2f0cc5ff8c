import type { BlockRef, FoundFact } from '../../../domain/chain/facts.ts';
import { NO_VOTES, type Votes, withVote } from '../../../domain/chain/witnesses.ts';
import type { FollowedSource } from '../../../store/chain/network-store.ts';
import { compareFacts, inOrder, keyOf } from '../../follow/compare.ts';
import type { Header } from '../../follow/header.ts';
import { cutSteps } from '../../follow/steps.ts';
import type { Node } from '../../rpc/node.ts';
import { isCoinSource, MAX_COIN_BLOCKS } from '../coin/coin-blocks.ts';
import type { Log } from '../rpc/types.ts';
import { floorIndex } from './blocks/anchors.ts';
import { BlockRange } from './blocks/block-range.ts';
import { CanonicalBlocks } from './blocks/canonical.ts';
import { hashesOf, isRefusal, type Reading, readBlocks } from './blocks/read-blocks.ts';
import { dateExpected } from './dates.ts';
import type { EvmPoll } from './evm-poll.ts';
import { findFlood, pauseFlood, pauseRefused } from './flood.ts';
import { isReadable, isUnread, ofBackfill, progressAfter } from './history.ts';
import type { BackfillProgress } from './memory.ts';
import { withVerdicts } from './witnesses/verdicts.ts';

/**
 * Reads the blocks from before a source was followed, for this source alone, one range after another between the live
 * polls. The header of an anchor in each response shows that the node is on the followed chain. Each range is read
 * twice, by two nodes if there are two. If the network later replaces a block that is not final, the live poll or the
 * check before finality reads the new block.
 */

const READINGS = 2;
const READINGS_IN_DOUBT = 5;
const MAX_READINGS = 20;
const UNDECIDED_MS = 5_000;

export function hasBackfill(poll: EvmPoll): boolean {
  return poll.sources.some((source) => isReadable(source, poll));
}

/**
 * Reads one range of one source. Entities take turns, and so do the sources of an entity. If there is a single node, it
 * reads the range in two calls of this function.
 */
export async function backfillOnce(poll: EvmPoll, reader: Node): Promise<void> {
  const { memory, nodes } = poll.follow;
  const progress = progressOf(poll);
  if (progress === null) return;
  const source = poll.sources.find((each) => keyOfSource(each) === progress.source);
  if (source === undefined) return;
  const isFirst = progress.total === 0;
  const other = nodes.second(reader);
  const isDone = await readOnce(poll, isFirst || other === null ? reader : other, source, progress);
  if (isDone || !isFirst || other === null || memory.backfill !== progress) return;
  await readOnce(poll, other, source, progress);
}

/** The range that is being read, or the next range of the next source. */
function progressOf(poll: EvmPoll): BackfillProgress | null {
  const { memory, clock, nodes } = poll.follow;
  if (clock.nowMs() < memory.backfillAtMs) return null;
  const pending = poll.sources.filter((source) => isReadable(source, poll));
  const current = pending.find((source) => keyOfSource(source) === memory.backfill?.source);
  if (memory.backfill !== null && current?.nextBlock === memory.backfill.from) return memory.backfill;
  const source = inTurn(pending, memory.backfillTurn++);
  if (source === undefined || source.nextBlock === null || source.lastBlock === null) {
    memory.backfillRanges.clear();
    return null;
  }
  const from = source.nextBlock;
  const to = Math.min(source.lastBlock, from + nodes.capRange(rangeOf(poll, source).blocks) - 1);
  const key = keyOfSource(source);
  const empty = { readings: 0, total: 0, isInDoubt: false, facts: new Map(), votes: new Map(), last: null };
  memory.backfill = { source: key, from, to, ...empty };
  return memory.backfill;
}

/** Entities take turns, so that an entity with many sources delays another entity by only one range. */
function inTurn(pending: readonly FollowedSource[], turn: number): FollowedSource | undefined {
  const entities = [...Map.groupBy(pending, ({ entityId }) => entityId).values()];
  const own = entities[turn % Math.max(1, entities.length)] ?? [];
  return own[Math.floor(turn / Math.max(1, entities.length)) % Math.max(1, own.length)];
}

/** Returns whether the range is done. */
async function readOnce(
  poll: EvmPoll,
  node: Node,
  source: FollowedSource,
  progress: BackfillProgress,
): Promise<boolean> {
  const { memory } = poll.follow;
  const { from, to } = progress;
  const anchor = anchorAbove(poll, to);
  if (anchor === null) return false;
  const wanted = { from, to, sources: [source], check: anchor.number, modes: memory.bookModes };
  const reading = await readBlocks(node, { ...wanted, purpose: 'backfill' });
  memory.meter.noteRequest([source]);
  if (!isRefusal(reading)) memory.meter.noteLogs(source, reading.logs.length);
  const flood = isRefusal(reading) ? null : findFlood(reading.logs, [source]);
  if (isRefusal(reading) || (flood !== null && flood.size > 0)) {
    memory.backfill = null;
    rangeOf(poll, source).shrink(to - from + 1);
    if (flood !== null) await pauseFlood(poll, flood);
    else if (from === to) await pauseRefused(poll, node, to, [source]);
    return false;
  }
  // The node is behind, or on another branch for now.
  if (reading.header?.hash !== anchor.hash) return false;
  return write(poll, node, source, progress, { ...reading, header: reading.header });
}

/** The oldest known block at or above `block` that a node agreed with; null if `block` is above the tip. */
function anchorAbove({ state, follow }: EvmPoll, block: number): BlockRef | null {
  const floor = state.anchors[floorIndex(state.anchors, state.final)];
  return [floor, follow.memory.agreed, state.tip].find((anchor) => anchor && anchor.number >= block) ?? null;
}

async function write(
  poll: EvmPoll,
  node: Node,
  source: FollowedSource,
  progress: BackfillProgress,
  { logs, header }: Reading & { readonly header: Header },
): Promise<boolean> {
  const { decoder, memory } = poll.follow;
  // Decodes with all sources, because a log belongs to the oldest source that takes it.
  const { last: before } = progress;
  const isSame = before !== null && areSameSources(before.sources, poll.sources) && areSameLogs(before.logs, logs);
  const found = isSame ? before.found : ofBackfill(poll, source, await decoder.decode(logs, poll.sources));
  progress.last = { node: node.id, sources: poll.sources, logs, found };
  if (isSame && before.node === node.id) noteRepetition(progress);
  else noteReading(progress, node, found);
  const needed = progress.isInDoubt ? READINGS_IN_DOUBT : READINGS;
  if (progress.readings < needed && progress.total < MAX_READINGS) return false;
  const all = await standing(node, progress, logs, header);
  const { changes } = compareFacts({
    found: all,
    stored: [],
    known: all.length === 0 ? [] : await poll.factsLike(all),
    isGone: () => false,
    head: poll.state.head ?? progress.to,
    final: poll.state.final,
    isFollowed: poll.isFollowed,
    isUnread: (fact) => isUnread(poll, fact),
  });
  const { changes: judged, open } = await withVerdicts(poll, progress, await dateExpected(poll, node, all, changes));
  if (open.length > 0) {
    // Too few nodes can be asked, or a reorg has moved a fact. The range starts again after `UNDECIDED_MS`.
    memory.backfill = null;
    memory.backfillAtMs = poll.follow.clock.nowMs() + UNDECIDED_MS;
    return false;
  }
  const parts = cutSteps(inOrder(judged), poll.follow.options.stepChanges);
  const last = parts.pop();
  for (const part of parts) await poll.commit({ changes: part.changes });
  await poll.commit({ changes: last?.changes ?? [], backfilled: [progressAfter(source, progress.to)] });
  rangeOf(poll, source).adapt(progress.to - progress.from + 1, logs.length);
  memory.backfill = null;
  return true;
}

/**
 * The facts of all readings whose blocks are still in the chain. If the newest reading lacks a fact, a node has left it
 * out or a reorg has removed it. The fact's block decides, because no live poll reads a final block again.
 */
async function standing(node: Node, progress: BackfillProgress, logs: readonly Log[], header: Header) {
  const { facts, last, isInDoubt } = progress;
  const all = [...facts.values()];
  if (!isInDoubt && last?.found.length === all.length) return all;
  const newest = new Set(last?.found.map(keyOf));
  const inQuestion = all.flatMap((fact) => (newest.has(keyOf(fact)) ? [] : fact.position));
  if (inQuestion.length === 0) return all;
  const hashes = hashesOf(logs) ?? new Map<number, string>();
  const blocks = new CanonicalBlocks(hashes.set(header.number, header.hash), Number.POSITIVE_INFINITY);
  await blocks.ask(
    node,
    inQuestion.map(({ blockNumber, blockHash }) => ({ number: blockNumber, hash: blockHash })),
    header,
  );
  return all.filter(({ position }) => !blocks.isGone(position));
}

/** Whether two readings were made for the same definitions. */
function areSameSources(a: readonly FollowedSource[], b: readonly FollowedSource[]): boolean {
  const isSame = ({ entityId, sourceId, revision }: FollowedSource, other: FollowedSource | undefined) =>
    sourceId === other?.sourceId && entityId === other.entityId && revision === other.revision;
  return a.length === b.length && a.every((source, index) => isSame(source, b[index]));
}

function areSameLogs(a: readonly Log[], b: readonly Log[]): boolean {
  return a.length === b.length && a.every((log, index) => isSameLog(log, b[index]));
}

function isSameLog(a: Log, b: Log | undefined): boolean {
  return (
    a.blockNumber === b?.blockNumber &&
    a.blockHash === b.blockHash &&
    a.logIndex === b.logIndex &&
    a.transactionHash === b.transactionHash &&
    a.address === b.address &&
    a.data === b.data &&
    a.topics.length === b.topics.length &&
    a.topics.every((topic, at) => topic === b.topics[at])
  );
}

/** Counts a reading in which the node repeated its last response. */
function noteRepetition(progress: BackfillProgress): void {
  progress.readings++;
  progress.total++;
}

/** If two readings have a fact in different blocks, a reorg came in between, and the newer reading counts. */
function noteReading(progress: BackfillProgress, node: Node, found: readonly FoundFact[]): void {
  const before = progress.facts.size;
  // Most facts have the same votes, and share one object.
  const withYes = new Map<Votes, Votes>();
  const vote = (votes: Votes) => {
    const known = withYes.get(votes) ?? withVote(votes, node.id, true);
    withYes.set(votes, known);
    return known;
  };
  for (const fact of found) {
    const key = keyOf(fact);
    progress.facts.set(key, fact);
    const place = `${key} ${fact.position.blockHash}`;
    progress.votes.set(place, vote(progress.votes.get(place) ?? NO_VOTES));
  }
  const isSame = progress.facts.size === before && found.length === before;
  if (progress.total > 0 && !isSame) progress.isInDoubt = true;
  progress.readings = progress.facts.size > before ? 1 : progress.readings + 1;
  progress.total++;
}

function rangeOf({ follow }: EvmPoll, source: FollowedSource): BlockRange {
  const { backfillRanges } = follow.memory;
  const key = keyOfSource(source);
  const range = backfillRanges.get(key) ?? new BlockRange(null);
  if (isCoinSource(source)) range.most = MAX_COIN_BLOCKS;
  backfillRanges.set(key, range);
  return range;
}

/**
 * Contains the reread revision. If an address begins to count in blocks of a range that has begun, the range starts
 * again.
 */
function keyOfSource({ entityId, sourceId, rereadRevision = 0 }: FollowedSource): string {
  return `${entityId} ${sourceId} ${rereadRevision}`;
}
