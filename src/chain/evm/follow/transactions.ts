import type { FactChange, FactKey, StoredFact } from '../../../domain/chain/facts.ts';
import type { AskedFact } from '../../../store/chain/network-store.ts';
import { keyOf } from '../../follow/compare.ts';
import type { Receipt } from '../rpc/types.ts';
import type { EvmPoll } from './evm-poll.ts';

/** Follows events that are held for a transaction, by the receipt of the transaction, because no log shows them. */

/**
 * Limit on the held events of one poll. Later polls ask for the others, which may wait until retention removes them.
 */
const HELD_A_POLL = 8;

/** The transactions to ask for at this head. Each held event is asked for once at each head. */
export function transactionsToAsk({ lease, follow }: EvmPoll, headHash: string): string[] {
  const { memory } = follow;
  const isAsked = (fact: StoredFact) => memory.heldHead === headHash && memory.heldAsked.has(keyOf(fact));
  const due = lease.held.filter((fact) => !isAsked(fact));
  return [...new Set(due.map(({ transactionHash }) => transactionHash))].slice(0, HELD_A_POLL);
}

/**
 * Notes the receipts that were read at this head. A receipt of another branch proves nothing, so it is asked for again.
 */
export function noteHeldAsked({ lease, follow }: EvmPoll, headHash: string, { receipts, isCanonical }: Receipts): void {
  const { memory } = follow;
  if (memory.heldHead !== headHash) memory.heldAsked.clear();
  memory.heldHead = headHash;
  for (const fact of lease.held) {
    const receipt = receipts.get(fact.transactionHash);
    if (receipt === null || (receipt !== undefined && isCanonical(receipt))) memory.heldAsked.add(keyOf(fact));
  }
}

export type Receipts = {
  readonly receipts: ReadonlyMap<string, Receipt | null>;
  /** Whether the block of a receipt is in the node's chain, at or below the last block read. */
  readonly isCanonical: (receipt: Receipt) => boolean;
};

/** The changes of held events that follow from the receipts. */
export function judgeReceipts(poll: EvmPoll, { receipts, isCanonical }: Receipts): FactChange[] {
  const changes: FactChange[] = [];
  for (const fact of poll.lease.held) {
    const receipt = receipts.get(fact.transactionHash) ?? null;
    if (receipt === null || !isCanonical(receipt)) continue;
    if (receipt.isSuccess) changes.push(foundAt(fact, receipt));
    else if (fact.state === 'waiting' && hasFailed(poll, receipt))
      changes.push({ change: 'retracted', ...keysOf(fact) });
  }
  return changes;
}

/** The held facts whose transaction was asked for. */
export function askedFacts({ lease }: EvmPoll, receipts: ReadonlyMap<string, unknown>): AskedFact[] {
  return lease.held
    .filter(({ transactionHash }) => receipts.has(transactionHash))
    .map((fact) => ({ ...keysOf(fact), isAbsent: receipts.get(fact.transactionHash) === null }));
}

/**
 * Whether the failure of a transaction is certain: its block is final. Until then, a reorg may include the transaction
 * again.
 */
function hasFailed({ state: { final } }: EvmPoll, { blockNumber }: Receipt): boolean {
  return final !== null && blockNumber <= final;
}

function keysOf({ entityId, factId }: StoredFact): FactKey {
  return { entityId, factId };
}

function foundAt(fact: StoredFact, { blockNumber, blockHash }: Receipt): FactChange {
  const change = fact.state === 'retracted' ? 'again' : 'moved';
  const logIndex = fact.position?.logIndex ?? 0;
  return { change, ...keysOf(fact), position: { blockNumber, blockHash, logIndex } };
}
