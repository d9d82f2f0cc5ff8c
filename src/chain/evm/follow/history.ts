import type { FactChange, FoundFact } from '../../../domain/chain/facts.ts';
import type { BackfillProgress, FollowedSource, SourceKey } from '../../../store/chain/network-store.ts';
import type { Waits } from '../decode/decoder.ts';
import type { EvmPoll } from './evm-poll.ts';

/**
 * Paybell publishes the older payments of a source with `deliverHistory` before the newer ones. Until the backfill has
 * read the older blocks, live polls leave new payments to the backfill, and its range grows with the tail. When the
 * backfill is near the tail, a live poll begins at the backfill's next block. After that poll, Paybell follows the
 * source like any other.
 */

/** Limit on the blocks that a live poll reads in addition to its tail, so that a source can join it. */
const JOIN_BLOCKS = 256;

function isPending({ nextBlock, lastBlock }: FollowedSource): boolean {
  return nextBlock !== null && lastBlock !== null && nextBlock <= lastBlock;
}

/** Whether the source has unread blocks below the tail, so that its payments above these blocks must wait. */
function isBehind(source: FollowedSource, tailFrom: number): boolean {
  const { deliverHistory, nextBlock, lastBlock, fromBlock } = source;
  if (!deliverHistory) return false;
  const next = nextBlock ?? fromBlock;
  return lastBlock === null ? next < tailFrom : isPending(source) && next < tailFrom;
}

/** The first block of a live poll of at most `blocks` blocks: lower than the tail if a source joins the tail. */
export function tailStart({ sources, state }: EvmPoll, tailFrom: number, blocks: number): number {
  const most = Math.min(JOIN_BLOCKS, blocks);
  const joins = sources.flatMap((source) => {
    const { nextBlock } = source;
    const isNear = nextBlock !== null && nextBlock > (state.final ?? -1) && tailFrom - nextBlock < most;
    return isNear && isBehind(source, tailFrom) ? [nextBlock] : [];
  });
  return Math.min(tailFrom, ...joins);
}

/**
 * Tells whether a live poll that begins at `tailFrom` leaves a block to the backfill of a source; undefined if no
 * source waits. If another source of the entity takes the same log, that source does not wait. The decoder keeps the
 * sources of earlier polls, so sources are compared by their ids.
 */
export function waitsAbove({ sources }: Pick<EvmPoll, 'sources'>, tailFrom: number): Waits | undefined {
  const behind = sources.filter((source) => isBehind(source, tailFrom));
  if (behind.length === 0) return undefined;
  const firstBlocks = new Map(behind.map((source) => [nameOf(source), source.nextBlock ?? source.fromBlock]));
  return (source, block) => block >= (firstBlocks.get(nameOf(source)) ?? Number.POSITIVE_INFINITY);
}

function nameOf({ entityId, sourceId }: SourceKey): string {
  return `${entityId} ${sourceId}`;
}

/** Leaves out new payments that wait for the history of their source. A payment to the address of an invoice does not wait. */
export function inTurn(changes: readonly FactChange[], waits: Waits | undefined): readonly FactChange[] {
  if (waits === undefined) return changes;
  const isEarly = (fact: FoundFact) => fact.expected === undefined && waits(fact, fact.position.blockNumber);
  return changes.filter((change) => change.change !== 'seen' || !isEarly(change.fact));
}

/**
 * The blocks that backfills must read after a live poll that began at `tailFrom`. A source that was new or paused needs
 * the blocks below `tailFrom`. A source that is behind also needs the blocks that the poll has read without publishing
 * its payments.
 */
export function backfillsBelow({ sources }: EvmPoll, tailFrom: number): BackfillProgress[] {
  return sources.flatMap((source) => {
    const { entityId, sourceId, fromBlock, nextBlock, lastBlock } = source;
    if (lastBlock === null) return { entityId, sourceId, nextBlock: nextBlock ?? fromBlock, lastBlock: tailFrom - 1 };
    if (nextBlock === null || !source.deliverHistory || !isPending(source)) return [];
    const last = isBehind(source, tailFrom) ? Math.max(lastBlock, tailFrom - 1) : nextBlock - 1;
    return last === lastBlock ? [] : { entityId, sourceId, nextBlock, lastBlock: last };
  });
}

/**
 * Leaves out facts of other entities, whose sources read their own blocks. Another source of the entity may have read
 * these blocks long ago and published their payments. Retention may have removed these payments since then. Their facts
 * are silent, so that Paybell does not publish them again.
 */
export function ofBackfill(
  { sources }: Pick<EvmPoll, 'sources'>,
  source: FollowedSource,
  found: readonly FoundFact[],
): readonly FoundFact[] {
  const others = sources.filter((each) => each.entityId === source.entityId && each.sourceId !== source.sourceId);
  const own = found.filter(({ entityId }) => entityId === source.entityId);
  if (others.length === 0) return own;
  const byId = new Map(others.map((each) => [each.sourceId, each]));
  return own.map((fact) => {
    const other = byId.get(fact.sourceId);
    const { blockNumber } = fact.position;
    const isKnown = other !== undefined && blockNumber <= source.createdHead && hasRead(other, blockNumber);
    return isKnown ? { ...fact, isSilent: true } : fact;
  });
}

/** Whether the source of a fact still has to read the fact's block. */
export function isUnread({ sources }: Pick<EvmPoll, 'sources'>, { entityId, sourceId, position }: FoundFact): boolean {
  const source = sources.find((each) => each.sourceId === sourceId && each.entityId === entityId);
  return source !== undefined && !hasRead(source, position.blockNumber);
}

function hasRead(source: FollowedSource, block: number): boolean {
  const { deliverHistory, nextBlock, lastBlock } = source;
  if (nextBlock === null || block < nextBlock) return nextBlock !== null;
  return lastBlock !== null && block > lastBlock && !(deliverHistory && isPending(source));
}

/** Whether the backfill has blocks to read for the source. With `deliverHistory`, it reads no block of the tail. */
export function isReadable(source: FollowedSource, { state, follow }: EvmPoll): boolean {
  if (!isPending(source)) return false;
  const tail = Math.max(follow.memory.agreed?.number ?? 0, state.final ?? 0);
  return !source.deliverHistory || (source.nextBlock ?? 0) <= tail;
}

/**
 * The progress after a range up to the block `to`. With `deliverHistory`, the source stays behind until a live poll
 * reaches its next block.
 */
export function progressAfter({ entityId, sourceId, lastBlock, deliverHistory }: FollowedSource, to: number) {
  const last = lastBlock ?? to;
  return { entityId, sourceId, nextBlock: to + 1, lastBlock: deliverHistory ? Math.max(last, to + 1) : last };
}
