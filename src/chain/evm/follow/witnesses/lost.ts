import type { FactChange, StoredFact } from '../../../../domain/chain/facts.ts';
import { keyOf } from '../../../follow/compare.ts';
import type { Header } from '../../../follow/header.ts';
import { cutSteps } from '../../../follow/steps.ts';
import type { Call } from '../../../rpc/call.ts';
import type { Node } from '../../../rpc/node.ts';
import { answerTo, callsOf, transactionCalls } from '../../coin/transfers.ts';
import { blockAt, transactionsAt } from '../../rpc/calls.ts';
import type { Receipt } from '../../rpc/types.ts';
import type { EvmPoll } from '../evm-poll.ts';
import type { LostTrace } from '../memory.ts';
import { shownBy } from './votes.ts';

/**
 * Looks for lost facts before they are retracted, because a node may have left out their logs since a reorg moved them.
 * The transaction lists of the blocks above the reorg show which lost transactions are in a block again, and only these
 * need a receipt. So the number of calls depends on the blocks, and not on the payments. If a pass over the blocks takes
 * several polls, and there are fewer payments than blocks, all payments need a receipt instead. A retraction needs at least
 * two answers, from a quorum.
 */

const BLOCKS_A_POLL = 100;
const RECEIPTS_A_POLL = 100;
const ANSWERS = 2;

/** Looks for lost facts that are due, and retracts those that are gone. */
export async function traceLost(poll: EvmPoll, leader: Node): Promise<void> {
  const { memory } = poll.follow;
  const lost = poll.lease.lost.filter((fact) => !poll.placed.has(keyOf(fact)));
  const keys = new Set(lost.map(keyOf));
  for (const key of memory.absences.keys()) if (!keys.has(key)) memory.absences.delete(key);
  const hashes = new Set(lost.map(({ transactionHash }) => transactionHash));
  for (const hash of memory.included) if (!hashes.has(hash)) memory.included.delete(hash);
  const due = lost.filter((fact) => isNearlyDue(poll, fact));
  const inBlocks = due.filter((fact) => !isByReceipt(poll, fact));
  const isLong = isPassLong(poll, inBlocks.length);
  await traceBlocks(poll, leader, isLong ? [] : inBlocks);
  await askReceipts(poll, leader, isLong ? due : due.filter((fact) => isByReceipt(poll, fact)));
}

/**
 * Whether the blocks above the reorg take more than one poll, and more calls than the receipts. A failure of the node begins the
 * pass again, and the network grows during each poll: a long pass may never reach the tip. An operator resumes networks from old blocks.
 */
function isPassLong({ follow, state }: EvmPoll, facts: number): boolean {
  const { reorgBase } = follow.memory;
  const blocks = reorgBase === null || state.tip === null ? 0 : state.tip.number - reorgBase;
  return blocks > BLOCKS_A_POLL && facts < blocks;
}

/**
 * Whether the grace of the fact ends by the next block: the first of the two answers comes one block early. A fact
 * without a followed log is due at once.
 */
function isNearlyDue(poll: EvmPoll, fact: StoredFact): boolean {
  return !isByLog(poll, fact) || headAbove(poll, fact) >= poll.follow.options.graceBlocks - 1;
}

function headAbove({ state }: EvmPoll, { lostAtHead }: StoredFact): number {
  const head = state.tip?.number ?? 0;
  return head - (lostAtHead ?? head);
}

function isByLog(poll: EvmPoll, fact: StoredFact): boolean {
  return !fact.isHeld && poll.isFollowed(fact);
}

/**
 * Whether a receipt decides about the fact. The blocks above the reorg decide otherwise: they need a fact with a followed log, and
 * a known reorg. If they show that the transaction is in a block again, its receipt says whether the fact is too.
 */
function isByReceipt(poll: EvmPoll, fact: StoredFact): boolean {
  const { memory } = poll.follow;
  return !isByLog(poll, fact) || memory.reorgBase === null || memory.included.has(fact.transactionHash);
}

/** Reads the next blocks of a pass. */
async function traceBlocks(poll: EvmPoll, leader: Node, due: readonly StoredFact[]): Promise<void> {
  const { memory, nodes } = poll.follow;
  const { tip } = poll.state;
  if (due.length === 0 || memory.reorgBase === null || tip === null) {
    memory.trace = null;
    return;
  }
  const current = nodes.all.find(({ id, waitMs }) => id === memory.trace?.node && waitMs === 0);
  const node = current ?? nextNode(poll, leader, due);
  if (memory.trace?.node !== node.id) {
    const next = memory.reorgBase + 1;
    memory.trace = { node: node.id, facts: new Set(due.map(keyOf)), next, transactions: new Set() };
  }
  const { trace } = memory;
  if (await readTransactions(poll, node, trace)) {
    if (trace.next <= tip.number) return;
    const traced = due.filter((fact) => trace.facts.has(keyOf(fact)));
    const isThere = ({ transactionHash }: StoredFact) => trace.transactions.has(transactionHash);
    for (const { transactionHash } of traced.filter(isThere)) memory.included.add(transactionHash);
    const gone = traced.filter((fact) => !isThere(fact));
    await write(
      poll,
      gone.flatMap((fact) => absent(poll, node, fact)),
    );
  }
  memory.trace = null;
}

/** The next node to ask: the leader, or another node once the leader has answered. */
function nextNode({ follow }: EvmPoll, leader: Node, due: readonly StoredFact[]): Node {
  const { memory, witnesses } = follow;
  const hasAnswered = (node: Node) => due.every((fact) => memory.absences.get(keyOf(fact))?.includes(node.id) === true);
  if (!hasAnswered(leader)) return leader;
  const free = witnesses.present.filter(({ node, isUseless }) => node.waitMs === 0 && !isUseless);
  return free.find(({ node }) => !hasAnswered(node))?.node ?? leader;
}

/**
 * Reads the transactions of the next blocks of the trace. Returns false if the node lacks one of these blocks or has
 * another tip.
 */
async function readTransactions(poll: EvmPoll, node: Node, trace: LostTrace): Promise<boolean> {
  const { tip } = poll.state;
  if (tip === null) return false;
  const last = Math.min(tip.number, trace.next + BLOCKS_A_POLL - 1);
  const calls = Array.from({ length: last - trace.next + 1 }, (_, at) => transactionsAt(trace.next + at));
  const atTip = last === tip.number ? null : transactionsAt(tip.number);
  const outcomes = await node.send(
    [...calls, ...(atTip === null ? [] : [atTip])].map((call): Call<unknown> => call),
    'lost',
  );
  const blocks = calls.map((call) => outcomes.valueOrNull(call));
  const newest = atTip === null ? blocks.at(-1) : outcomes.valueOrNull(atTip);
  if (newest?.hash !== tip.hash) return false;
  for (const block of blocks) {
    if (block === null) return false;
    for (const hash of block.transactions) trace.transactions.add(hash);
  }
  trace.next = last + 1;
  return true;
}

/** Gets one more answer about each transaction. A receipt with the fact brings the fact back. */
async function askReceipts(poll: EvmPoll, leader: Node, due: readonly StoredFact[]): Promise<void> {
  const { tip } = poll.state;
  const asked = due.slice(0, RECEIPTS_A_POLL);
  if (asked.length === 0 || tip === null) return;
  const node = nextNode(poll, leader, asked);
  const atTip = blockAt(tip.number);
  const calls = transactionCalls(asked);
  const outcomes = await node.send([atTip, ...callsOf(calls.values())], 'lost');
  if (outcomes.valueOrNull(atTip)?.hash !== tip.hash) return;
  const receipts = new Map<string, Receipt | null>();
  for (const [hash, call] of calls) {
    const answer = answerTo(call, outcomes);
    if (answer !== undefined) receipts.set(hash, answer);
  }
  const headers = await headersOf(node, [...receipts.values()]);
  const changes = asked.flatMap((fact) => {
    const receipt = receipts.get(fact.transactionHash);
    if (receipt === undefined) return [];
    const header = receipt === null ? null : headers.get(receipt.blockHash);
    // The node does not have the block that its receipt names.
    if (header === undefined) return [];
    const back = receipt === null || header === null ? null : backIn(poll, node, fact, receipt, header);
    return back === null ? absent(poll, node, fact) : [back];
  });
  await write(poll, shownBy(poll, node, changes));
}

/** The headers of the blocks that the receipts name, as far as the node has these blocks. */
async function headersOf(node: Node, receipts: readonly (Receipt | null)[]): Promise<Map<string, Header>> {
  const numbers = receipts.flatMap((receipt) => receipt?.blockNumber ?? []);
  const calls = [...new Set(numbers)].map(blockAt);
  if (calls.length === 0) return new Map();
  const outcomes = await node.send(calls, 'lost');
  const headers = calls.flatMap((call) => outcomes.valueOrNull(call) ?? []);
  return new Map(headers.map((header) => [header.hash, header]));
}

/** Null if the transaction no longer has the log, because it failed or wrote another log. */
function backIn(
  { follow, state, lease }: EvmPoll,
  node: Node,
  { entityId, factId, isHeld, position }: StoredFact,
  { blockNumber, blockHash, isSuccess, logs }: Receipt,
  header: Header,
): FactChange | null {
  if (blockNumber > (state.tip?.number ?? 0)) return null;
  const log = follow.decoder.identify(follow.options.networkId, logs).get(factId);
  if (isHeld ? !isSuccess : log === undefined) return null;
  const logIndex = log?.logIndex ?? position?.logIndex ?? 0;
  const time = follow.witnesses.mayDate(node, header, lease.nowMs) ? { blockS: header.timestampS } : {};
  return { change: 'moved', entityId, factId, position: { blockNumber, blockHash, logIndex, ...time } };
}

/**
 * Notes that the node does not have the fact. Returns the retraction if the grace is over and enough nodes have
 * answered so.
 */
function absent(poll: EvmPoll, node: Node, fact: StoredFact): FactChange[] {
  const { memory, witnesses, options } = poll.follow;
  const answers = [...(memory.absences.get(keyOf(fact)) ?? []), node.id];
  memory.absences.set(keyOf(fact), answers);
  if (answers.length < ANSWERS || new Set(answers).size < witnesses.quorum) return [];
  if (headAbove(poll, fact) < options.graceBlocks) return [];
  return [{ change: 'retracted', entityId: fact.entityId, factId: fact.factId }];
}

async function write(poll: EvmPoll, changes: readonly FactChange[]): Promise<void> {
  for (const { changes: part } of cutSteps(changes, poll.follow.options.stepChanges)) {
    if (part.length > 0) await poll.commit({ changes: part });
  }
}
