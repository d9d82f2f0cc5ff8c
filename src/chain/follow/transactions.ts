import { factId } from '../../domain/chain/fact-id.ts';
import type { FactChange, StoredFact } from '../../domain/chain/facts.ts';
import type { Node } from '../rpc/node.ts';
import type { Receipt } from '../rpc/types.ts';
import { keyOf } from './compare.ts';
import type { Poll } from './poll.ts';

/**
 * Facts that are followed by the receipt of their transaction: events that are held for one, which no log tells of, and lost
 * facts before they are retracted, because a node may have left their log out of every response since they moved.
 */

/** As many as the node takes in a second, so that the next poll is not late, and so many in one batch at most. */
const MAX_LOST_A_POLL = 200;
/** Held events wait until retention removes them, and each poll asks for some. */
const HELD_A_POLL = 8;
/** Responses without a receipt that a retraction needs. */
const ABSENCES = 2;

/** The transactions to ask for at this head. */
export function transactionsToAsk(poll: Poll, { callsPerSecond }: Node, head: number): string[] {
  const { lost, held } = poll.lease;
  const due = lost.filter((fact) => !isByLog(poll, fact) || isNearlyDue(poll, fact, head));
  return [...new Set([...hashesOf(due, Math.min(callsPerSecond, MAX_LOST_A_POLL)), ...hashesOf(held, HELD_A_POLL)])];
}

function hashesOf(facts: readonly StoredFact[], most: number): string[] {
  return [...new Set(facts.map(({ transactionHash }) => transactionHash))].slice(0, most);
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
    const isWithoutLog = !isByLog(poll, fact) || (receipt !== null && isUnread(poll, fact, receipt));
    if (receipt?.isSuccess === true && isWithoutLog) changes.push(foundAt(fact, receipt));
    else if (fact.state === 'waiting' && hasFailed(poll, receipt)) changes.push(retraction(fact));
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

/**
 * A reorg may move a payment below the first block of its source, or past a change of the source that does not take it. Its log
 * is not read there, and it is the same payment still.
 */
function isUnread(
  { sources, follow }: Poll,
  { entityId, sourceId, factId: id }: StoredFact,
  receipt: Receipt,
): boolean {
  const source = sources.find((each) => each.sourceId === sourceId && each.entityId === entityId);
  if (source === undefined) return false;
  if (receipt.blockNumber < source.fromBlock) return true;
  return (source.earlier ?? []).length > 0 && idsOf(follow.options.networkId, receipt).has(id);
}

/** The ids of the facts that the logs of the transaction can be. */
function idsOf(networkId: number, { logs, transactionHash }: Receipt): Set<string> {
  const equal = new Map<string, number>();
  return new Set(
    logs.map(({ address, topics, data }) => {
      const key = `${address} ${topics.join(' ')} ${data}`;
      const n = equal.get(key) ?? 0;
      equal.set(key, n + 1);
      return factId({ networkId, transactionHash, contract: address, topics, data, n });
    }),
  );
}

/** From one block before it is due, so that the second of two responses is not late. */
function isNearlyDue({ follow }: Poll, { lostAtHead }: StoredFact, head: number): boolean {
  return head - (lostAtHead ?? head) >= follow.options.graceBlocks - 1;
}

function foundAt({ entityId, factId, state, position }: StoredFact, { blockNumber, blockHash }: Receipt): FactChange {
  const change = state === 'retracted' ? 'again' : 'moved';
  const logIndex = position?.logIndex ?? 0;
  return { change, entityId, factId, position: { blockNumber, blockHash, logIndex } };
}

/** A transaction has failed for good once the block of its receipt is final: until then a fork may include it again. */
function hasFailed({ state: { final } }: Poll, receipt: Receipt | null): boolean {
  return receipt !== null && !receipt.isSuccess && final !== null && receipt.blockNumber <= final;
}

function retraction({ entityId, factId }: StoredFact): FactChange {
  return { change: 'retracted', entityId, factId };
}

function absent({ follow }: Poll, fact: StoredFact, head: number): FactChange[] {
  const { absences } = follow.memory;
  const times = (absences.get(keyOf(fact)) ?? 0) + 1;
  absences.set(keyOf(fact), times);
  if (times < ABSENCES || head - (fact.lostAtHead ?? head) < follow.options.graceBlocks) return [];
  return [retraction(fact)];
}
