import type { FactChange, StoredFact } from '../../../domain/chain/facts.ts';
import type { AskedFact } from '../../../store/chain/network-store.ts';
import { keyOf } from '../../follow/compare.ts';
import { RpcFailure } from '../../rpc/failures.ts';
import type { Node } from '../../rpc/node.ts';
import { blockOf, MAX_STATUSES, type Status, type Statuses, slotOf, statusesOf, transactionOf } from '../rpc/calls.ts';
import { noteNode, write } from './live.ts';
import { noteReorg, placeTransactions } from './place.ts';
import { isAlone, type SolanaPoll, voterOf, votersNeeded } from './solana-poll.ts';

/**
 * Asks nodes for the statuses of transactions whose facts are open. That a node behind the head lacks a transaction
 * proves nothing.
 *
 * | status                             | fact       | change                                                             |
 * |------------------------------------|------------|--------------------------------------------------------------------|
 * | same slot, no error                | seen       | none; if it is finalized, the node votes for finality              |
 * | another slot, or the fact is lost  | seen, lost | `moved`; `lost` if the transaction pays another amount there       |
 * | none, or an error, by two voters   | seen       | `lost`; at or below finality by a quorum                           |
 * | the same, `GRACE_SLOTS` later      | lost       | `retracted`: its blockhash can no longer be used                   |
 * | `processed`                        | any        | none                                                               |
 */

const GRACE_SLOTS = 200;
/**
 * Limit on the open facts of a poll, which needs ten calls for them. Later polls ask for the other facts, and finality
 * waits for them.
 */
const MAX_OPEN = 10 * MAX_STATUSES;
const MAX_MOVES = 100;
const MIN_ABSENCES = 2;

/** Facts that are not final, oldest first, except those that this poll has just placed. */
export async function readOpenFacts({ state, lease, follow, placed }: SolanaPoll): Promise<StoredFact[]> {
  const above = await follow.store.factsIn(lease.networkId, (state.final ?? -1) + 1, Number.MAX_SAFE_INTEGER);
  const seen = above.filter((fact) => fact.state === 'seen');
  const lost = lease.lost.filter((fact) => !placed.has(keyOf(fact)));
  const all = [...lease.unconfirmed, ...seen, ...lost, ...lease.held].filter(
    ({ transactionHash }) => transactionHash !== '',
  );
  const slotOfFact = ({ position }: StoredFact) => position?.blockNumber ?? 0;
  return [...new Map(all.map((fact) => [keyOf(fact), fact])).values()].sort((a, b) => slotOfFact(a) - slotOfFact(b));
}

/** The statuses that one node returned, by fact. */
type Answer = { readonly node: Node; readonly slot: number; readonly byKey: ReadonlyMap<string, Status | null> };

export async function followStatuses(poll: SolanaPoll, leader: Node): Promise<void> {
  const open = (await readOpenFacts(poll)).slice(0, MAX_OPEN);
  forgetOthers(poll, open);
  if (open.length === 0) return;
  const moves = new Map<string, Move>();
  const asked: AskedFact[] = [];
  let answers = 0;
  for (const node of [leader, ...poll.follow.nodes.others(leader)]) {
    if (answers > 0 && !needsMore(poll, open)) break;
    const answer = await askStatuses(poll, node, open);
    if (answer === null) continue;
    answers++;
    for (const fact of open) if (noteStatus(poll, answer, fact)) moves.set(keyOf(fact), { fact, answer });
    if (answers === 1) asked.push(...askedHeld(poll, answer));
  }
  const moved = await readMoves(poll, [...moves.values()].slice(0, MAX_MOVES));
  const isMoved = new Set(moved.map((change) => keyOf(change.change === 'seen' ? change.fact : change)));
  const gone = open.filter((fact) => !isMoved.has(keyOf(fact))).flatMap((fact) => goneChange(poll, fact) ?? []);
  const changes = [...gone, ...moved];
  if (changes.length === 0 && asked.length === 0) return;
  await write(poll, poll.follow.memory.head ?? poll.state.head ?? 0, changes, { asked });
  // Forgets the answers from before the change.
  for (const change of changes) {
    const key = keyOf(change.change === 'seen' ? change.fact : change);
    poll.follow.memory.absences.delete(key);
  }
}

/** Drops the answers about facts that are no longer open. */
function forgetOthers({ follow: { memory } }: SolanaPoll, open: readonly StoredFact[]): void {
  const keys = new Set(open.map(keyOf));
  const places = new Set(open.map(placeOf));
  memory.absences = new Map([...memory.absences].filter(([key]) => keys.has(key)));
  memory.finalVotes = new Map([...memory.finalVotes].filter(([place]) => places.has(place)));
}

/** The key of a fact in its slot. */
function placeOf(fact: StoredFact): string {
  return `${keyOf(fact)} ${fact.position?.blockNumber ?? 0}`;
}

export function isVotedFinal(poll: SolanaPoll, fact: StoredFact): boolean {
  return (poll.follow.memory.finalVotes.get(placeOf(fact))?.size ?? 0) >= votersNeeded(poll);
}

/** Whether another node could decide a fact: too few nodes lack it so far, or too few have called it finalized. */
function needsMore(poll: SolanaPoll, open: readonly StoredFact[]): boolean {
  const { memory } = poll.follow;
  if (isAlone(poll)) return false;
  return open.some((fact) => {
    const absent = memory.absences.get(keyOf(fact))?.size ?? 0;
    const final = memory.finalVotes.get(placeOf(fact))?.size ?? 0;
    return (absent > 0 && absent < neededAbsences(poll, fact)) || (final > 0 && final < votersNeeded(poll));
  });
}

/** Null if the node fails. */
async function askStatuses(poll: SolanaPoll, node: Node, open: readonly StoredFact[]): Promise<Answer | null> {
  const signatures = [...new Set(open.map(({ transactionHash }) => transactionHash))];
  const calls: { readonly chunk: readonly string[]; readonly call: ReturnType<typeof statusesOf> }[] = [];
  for (let at = 0; at < signatures.length; at += MAX_STATUSES) {
    const chunk = signatures.slice(at, at + MAX_STATUSES);
    calls.push({ chunk, call: statusesOf(chunk) });
  }
  const finalized = slotOf('finalized');
  try {
    const outcomes = await node.send([...calls.map(({ call }) => call), finalized], 'finality');
    const bySignature = new Map<string, Status | null>();
    let slot = Number.POSITIVE_INFINITY;
    for (const { chunk, call } of calls) {
      const answer: Statuses | null = outcomes.valueOrNull(call);
      if (answer === null) continue;
      slot = Math.min(slot, answer.slot);
      for (const [place, signature] of chunk.entries()) bySignature.set(signature, answer.statuses[place] ?? null);
    }
    if (slot === Number.POSITIVE_INFINITY) return null;
    const final = outcomes.valueOrNull(finalized);
    noteNode(poll, node, slot, final ?? undefined);
    const byKey = open.flatMap((fact): [string, Status | null][] => {
      const status = bySignature.get(fact.transactionHash);
      return status === undefined ? [] : [[keyOf(fact), status]];
    });
    return { node, slot, byKey: new Map(byKey) };
  } catch (error) {
    if (error instanceof RpcFailure) return null;
    throw error;
  }
}

/** Notes one node's status of a fact. Returns whether the transaction is in another slot, or in a slot again. */
function noteStatus(poll: SolanaPoll, { node, slot, byKey }: Answer, fact: StoredFact): boolean {
  const { memory } = poll.follow;
  const key = keyOf(fact);
  const status = byKey.get(key);
  if (status === undefined) return false;
  const absences = memory.absences.get(key) ?? new Set<string>();
  memory.absences.set(key, absences);
  const voter = voterOf(poll, node.id, slot);
  if (status === null || status.isFailed) {
    if (fact.isHeld && fact.state === 'waiting') return false;
    if (slot >= (memory.head ?? poll.state.head ?? 0) && isGraceOver(poll, fact)) {
      absences.delete(otherPaymentOf(voter));
      absences.add(voter);
    }
    return false;
  }
  if (status.level !== 'confirmed' && status.level !== 'finalized') return false;
  // A lost fact may stay lost even if its transaction is back, because the transaction may pay another amount now.
  if (fact.state === 'lost') absences.delete(voter);
  else absences.clear();
  if (fact.state !== 'seen' || status.slot !== fact.position?.blockNumber) return true;
  if (status.level !== 'finalized') return false;
  const votes = memory.finalVotes.get(placeOf(fact)) ?? new Set<string>();
  memory.finalVotes.set(placeOf(fact), votes.add(voter));
  return false;
}

/**
 * The vote of a node whose transaction pays another amount. A status does not show the amount, so this vote stays when
 * a new status of the node arrives.
 */
function otherPaymentOf(voter: string): string {
  return `other payment: ${voter}`;
}

/** Whether an absence counts. For a lost fact, it counts only after the transaction can no longer come back. */
function isGraceOver({ state, follow }: SolanaPoll, { state: of, lostAtHead }: StoredFact): boolean {
  if (of !== 'lost') return true;
  const grace = Math.max(GRACE_SLOTS, follow.options.graceBlocks);
  return (follow.memory.head ?? state.head ?? 0) - (lostAtHead ?? 0) >= grace;
}

/**
 * Whether the fact was seen in a slot that is already final. One node can bring a payment back there. The payment stays
 * open, and a denial needs as many nodes as its finality.
 */
function isBelowFinality({ state }: SolanaPoll, fact: StoredFact): boolean {
  return fact.state === 'seen' && (fact.position?.blockNumber ?? 0) <= (state.final ?? -1);
}

function neededAbsences(poll: SolanaPoll, fact: StoredFact): number {
  return isBelowFinality(poll, fact) ? Math.max(MIN_ABSENCES, votersNeeded(poll)) : MIN_ABSENCES;
}

function goneChange(poll: SolanaPoll, fact: StoredFact): FactChange | null {
  const { memory } = poll.follow;
  if ((memory.absences.get(keyOf(fact))?.size ?? 0) < neededAbsences(poll, fact)) return null;
  const { entityId, factId, position } = fact;
  if (fact.state === 'lost') return { change: 'retracted', entityId, factId };
  if (fact.state !== 'seen' || position === null) return null;
  if (!isBelowFinality(poll, fact)) noteReorg(poll, position.blockNumber);
  return { change: 'lost', entityId, factId, lostAtHead: memory.head ?? poll.state.head ?? position.blockNumber };
}

type Move = { readonly fact: StoredFact; readonly answer: Answer };

/** Reads moved transactions from the node that reported the move. */
async function readMoves(poll: SolanaPoll, moves: readonly Move[]): Promise<FactChange[]> {
  const changes: FactChange[] = [];
  for (const [answer, own] of Map.groupBy(moves, (move) => move.answer)) {
    const facts = own.map(({ fact }) => fact);
    try {
      changes.push(...(await readMovesOf(poll, answer, facts)));
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
    }
  }
  return changes;
}

async function readMovesOf(
  poll: SolanaPoll,
  { node, slot }: Answer,
  facts: readonly StoredFact[],
): Promise<FactChange[]> {
  const { memory } = poll.follow;
  // A deleted source cannot decode its payments, so Paybell follows their transactions, as for held events.
  const isHeldFact = (fact: StoredFact) => fact.isHeld || !poll.isFollowed(fact);
  const held = facts.filter(isHeldFact);
  const paid = facts.filter((fact) => !isHeldFact(fact));
  const calls = [...new Set(paid.map(({ transactionHash }) => transactionHash))].map(transactionOf);
  const outcomes = calls.length === 0 ? null : await node.send(calls, 'lost');
  const transactions = calls.flatMap((call) => outcomes?.valueOrNull(call) ?? []);
  for (const transaction of transactions) memory.transactions.set(transaction.signature, transaction);
  const { changes, unplaced, found } = await placeTransactions(poll, node, transactions);
  const keys = new Set(found.map(keyOf));
  const there = new Set(transactions.map(({ signature }) => signature));
  // Facts whose transaction exists but pays another amount, or nothing.
  const other = paid.filter(
    (fact) => there.has(fact.transactionHash) && !unplaced.has(fact.transactionHash) && !keys.has(keyOf(fact)),
  );
  for (const fact of other) {
    if (fact.state !== 'lost' || !isGraceOver(poll, fact)) continue;
    const key = keyOf(fact);
    const vote = otherPaymentOf(voterOf(poll, node.id, slot));
    memory.absences.set(key, (memory.absences.get(key) ?? new Set()).add(vote));
  }
  const lost = other.filter(
    ({ state, position }) => state === 'seen' && (position?.blockNumber ?? 0) > (poll.state.final ?? -1),
  );
  const lostAtHead = memory.head ?? poll.state.head ?? 0;
  return [
    ...lost.map(({ entityId, factId }): FactChange => ({ change: 'lost', entityId, factId, lostAtHead })),
    ...changes,
    ...(await readHeld(node, held)),
  ];
}

/** Reads the transactions of held events. They have no payment to decode, so the slot is enough. */
async function readHeld(node: Node, held: readonly StoredFact[]): Promise<FactChange[]> {
  const changes: FactChange[] = [];
  for (const { entityId, factId, transactionHash, state } of held) {
    const call = transactionOf(transactionHash);
    const transaction = (await node.send([call], 'lost')).valueOrNull(call);
    if (transaction === null || transaction.isFailed) continue;
    const block = blockOf(transaction.slot);
    const hash = (await node.send([block], 'lost')).valueOrNull(block)?.hash;
    if (hash === undefined) continue;
    const position = { blockNumber: transaction.slot, blockHash: hash, logIndex: 0 };
    changes.push({ change: state === 'retracted' ? 'again' : 'moved', entityId, factId, position });
  }
  return changes;
}

function askedHeld({ lease }: SolanaPoll, { byKey }: Answer): AskedFact[] {
  return lease.held.flatMap((fact) => {
    const status = byKey.get(keyOf(fact));
    const { entityId, factId } = fact;
    return status === undefined ? [] : [{ entityId, factId, isAbsent: status === null }];
  });
}
