import { BoundedMap } from '../../../bounded-map.ts';
import type { Evidence, FactChange, FoundFact, StoredFact } from '../../../domain/chain/facts.ts';
import type { FollowedSource } from '../../../store/chain/network-store.ts';
import { compareFacts, keyOf, positionOf } from '../../follow/compare.ts';
import { RpcFailure } from '../../rpc/failures.ts';
import type { Node } from '../../rpc/node.ts';
import type { Payment } from '../decode/facts.ts';
import type { Transaction } from '../decode/transaction.ts';
import { type Block, blockOf } from '../rpc/calls.ts';
import { voteLate } from './late-votes.ts';
import type { SolanaPoll } from './solana-poll.ts';

/** The changes of facts that transactions lead to, and the transactions that a later poll must read again. */
export type Placed = {
  readonly changes: readonly FactChange[];
  readonly unplaced: ReadonlySet<string>;
  /** The facts that the transactions have, whether or not they are new. */
  readonly found: readonly FoundFact[];
};

/** The blocks of slots, as one poll has read them. */
export type Blocks = Map<number, Block | null>;

export function newBlocks(): Blocks {
  return new BoundedMap(10_000);
}

/** Finds the blocks of the payments, and compares the payments with the stored facts. */
export async function placeTransactions(
  poll: SolanaPoll,
  node: Node,
  transactions: readonly Transaction[],
  sources: readonly FollowedSource[] = poll.sources,
  blocks: Blocks = newBlocks(),
): Promise<Placed> {
  const { payments: decoder } = poll.follow;
  const payments = new Map<string, Payment>();
  for (const transaction of transactions) {
    for (const payment of decoder.decode(transaction, sources)) payments.set(keyOf(payment), payment);
  }
  if (payments.size === 0) return { changes: [], unplaced: new Set(), found: [] };
  const known = new Map((await factsLike(poll, [...payments.values()])).map((fact) => [keyOf(fact), fact]));
  const standsAt = ({ slot, ...payment }: Payment) => {
    const before = known.get(keyOf(payment));
    const stands = before?.state === 'seen' || before?.state === 'final';
    return stands && before?.position?.blockNumber === slot ? before.position : null;
  };
  const wanted = [...payments.values()].filter((payment) => standsAt(payment) === null).map(({ slot }) => slot);
  await readBlocks(node, wanted, blocks);
  const unplaced = new Set<string>();
  const found: FoundFact[] = [];
  for (const payment of payments.values()) {
    const { slot, place, ...fact } = payment;
    const position = standsAt(payment);
    const block = blocks.get(slot) ?? null;
    if (position !== null) found.push({ ...fact, position });
    else if (block === null) unplaced.add(fact.transactionHash);
    else found.push({ ...fact, position: positionIn(slot, place, block) });
  }
  const differences = compareFacts({
    found,
    stored: [],
    known: [...known.values()],
    isGone: () => false,
    head: poll.state.head ?? 0,
    final: poll.state.final,
    isFollowed: poll.isFollowed,
  });
  if (differences.replacedFrom !== null) noteReorg(poll, differences.replacedFrom);
  const changes = await withEvidence(poll, node, differences.changes, known, unplaced);
  return { changes: changes.filter((change) => isInTurn(sources, change, unplaced)), unplaced, found };
}

function factsLike(poll: SolanaPoll, payments: readonly Payment[]): Promise<StoredFact[]> {
  // The store reads only the keys, so any position will do.
  return poll.factsLike(payments.map((payment) => ({ ...payment, position: positionIn(payment.slot, 0, null) })));
}

function positionIn(slot: number, place: number, block: Block | null) {
  const blockS = block?.blockS ?? null;
  return { blockNumber: slot, blockHash: block?.hash ?? '', logIndex: place, ...(blockS !== null && { blockS }) };
}

export async function readBlocks(node: Node, slots: readonly number[], blocks: Blocks): Promise<void> {
  const calls = new Map([...new Set(slots)].filter((slot) => !blocks.has(slot)).map((slot) => [slot, blockOf(slot)]));
  if (calls.size === 0) return;
  try {
    const outcomes = await node.send([...calls.values()], 'logs');
    for (const [slot, call] of calls) blocks.set(slot, outcomes.valueOrNull(call));
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
  }
}

export function noteReorg(poll: SolanaPoll, slot: number): void {
  const depth = (poll.state.tip?.number ?? slot) - slot + 1;
  poll.reorgDepth = Math.max(poll.reorgDepth, depth);
}

/** Adds votes to changes at or below finality: a quorum must call the transaction finalized in its slot. */
async function withEvidence(
  poll: SolanaPoll,
  node: Node,
  changes: readonly FactChange[],
  known: ReadonlyMap<string, StoredFact>,
  unplaced: Set<string>,
): Promise<FactChange[]> {
  const final = poll.state.final ?? -1;
  const signatureOf = (change: FactChange) =>
    change.change === 'seen' ? change.fact.transactionHash : (known.get(keyOf(change))?.transactionHash ?? '');
  const isLate = (change: FactChange) => (positionOf(change)?.blockNumber ?? final + 1) <= final;
  const late = changes.filter(isLate);
  if (late.length === 0) return [...changes];
  const questions = late.map((change) => ({
    signature: signatureOf(change),
    slot: positionOf(change)?.blockNumber ?? 0,
  }));
  const votes = await voteLate(poll, node, questions);
  return changes.flatMap((change) => {
    if (!isLate(change)) return [change];
    const yes = votes.get(`${signatureOf(change)} ${positionOf(change)?.blockNumber ?? 0}`);
    if (yes === undefined) {
      unplaced.add(signatureOf(change));
      return [];
    }
    const evidence: Evidence = { votes: { yes, no: [] }, standing: 'confirmed' };
    return 'fact' in change || 'position' in change ? [{ ...change, evidence }] : [change];
  });
}

/**
 * Whether the payment may be stored now. A source with `deliverHistory` gets its new payments after the old ones, so a
 * later poll reads the new ones again.
 */
function isInTurn(sources: readonly FollowedSource[], change: FactChange, unplaced: Set<string>): boolean {
  if (change.change !== 'seen') return true;
  const { fact } = change;
  const source = sources.find(({ entityId, sourceId }) => entityId === fact.entityId && sourceId === fact.sourceId);
  if (source === undefined || !isHistoryPending(source)) return true;
  if (fact.position.blockNumber <= (source.lastBlock ?? Number.POSITIVE_INFINITY)) return true;
  unplaced.add(fact.transactionHash);
  return false;
}

function isHistoryPending({ deliverHistory, nextBlock, lastBlock, fromBlock }: FollowedSource): boolean {
  if (!deliverHistory) return false;
  return lastBlock === null ? fromBlock > 0 : (nextBlock ?? fromBlock) <= lastBlock;
}
