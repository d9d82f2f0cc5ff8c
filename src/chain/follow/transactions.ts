import type { FactChange, StoredFact } from '../../domain/chain/facts.ts';
import type { Receipt } from '../rpc/types.ts';
import { keyOf } from './compare.ts';
import type { Poll } from './poll.ts';

/**
 * Facts that are followed by the receipt of their transaction: events that are held for one, which no log tells of, and lost
 * facts before they are retracted, because a node may have left their log out of every response since they moved.
 */

const RECEIPTS_A_POLL = 8;
/** Responses without a receipt that a retraction needs. */
const ABSENCES = 2;

/** The transactions to ask for at this head: those of lost facts first. */
export function transactionsToAsk(poll: Poll, head: number): string[] {
  const { lost, held } = poll.lease;
  const asked = [...lost.filter((fact) => !isByLog(poll, fact) || isNearlyDue(poll, fact, head)), ...held];
  return [...new Set(asked.map(({ transactionHash }) => transactionHash))].slice(0, RECEIPTS_A_POLL);
}

export type Receipts = {
  readonly head: number;
  readonly receipts: ReadonlyMap<string, Receipt | null>;
  /** The facts that the logs have, those of the receipts among them. */
  readonly found: ReadonlySet<string>;
  /** Whether the block of a receipt is one that was read or that stands below. */
  readonly isCanonical: (receipt: Receipt) => boolean;
};

/** What the receipts say about the facts that the logs do not have. */
export function judgeReceipts(poll: Poll, { head, receipts, found, isCanonical }: Receipts): FactChange[] {
  const { lost, held } = poll.lease;
  const { absences } = poll.follow.memory;
  const keys = new Set(lost.map(keyOf));
  for (const key of absences.keys()) if (!keys.has(key)) absences.delete(key);
  const changes: FactChange[] = [];
  for (const fact of [...lost, ...held]) {
    const receipt = receipts.get(fact.transactionHash);
    if (receipt === undefined || found.has(keyOf(fact))) continue;
    if (receipt !== null && !isCanonical(receipt)) continue;
    const isWithoutLog = !isByLog(poll, fact) || (receipt !== null && isBelowSource(poll, fact, receipt));
    if (receipt?.isSuccess === true && isWithoutLog) changes.push(backAt(fact, receipt));
    else if (fact.state === 'lost') changes.push(...absent(poll, fact, head));
  }
  return changes;
}

/** The held facts whose transaction was asked for. */
export function askedFacts({ lease }: Poll, receipts: ReadonlyMap<string, unknown>): StoredFact[] {
  return lease.held.filter(({ transactionHash }) => receipts.has(transactionHash));
}

function isByLog(poll: Poll, fact: StoredFact): boolean {
  return !fact.isHeld && poll.isFollowed(fact);
}

/** A fork may move a payment below the first block of its source, where its log is not read. It is the same payment still. */
function isBelowSource({ sources }: Poll, { entityId, sourceId }: StoredFact, { blockNumber }: Receipt): boolean {
  const source = sources.find((each) => each.sourceId === sourceId && each.entityId === entityId);
  return source !== undefined && blockNumber < source.fromBlock;
}

/** From one block before it is due, so that the second of two responses is not late. */
function isNearlyDue({ follow }: Poll, { lostAtHead }: StoredFact, head: number): boolean {
  return head - (lostAtHead ?? head) >= follow.options.graceBlocks - 1;
}

function backAt({ entityId, factId, position }: StoredFact, { blockNumber, blockHash }: Receipt): FactChange {
  const logIndex = position?.logIndex ?? 0;
  return { change: 'moved', entityId, factId, position: { blockNumber, blockHash, logIndex } };
}

function absent({ follow }: Poll, fact: StoredFact, head: number): FactChange[] {
  const { absences } = follow.memory;
  const times = (absences.get(keyOf(fact)) ?? 0) + 1;
  absences.set(keyOf(fact), times);
  if (times < ABSENCES || head - (fact.lostAtHead ?? head) < follow.options.graceBlocks) return [];
  return [{ change: 'retracted', entityId: fact.entityId, factId: fact.factId }];
}
