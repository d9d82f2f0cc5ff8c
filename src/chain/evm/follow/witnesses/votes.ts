import type { Evidence, FactChange, FactKey, Position } from '../../../../domain/chain/facts.ts';
import { type Verdict, type Votes, withVote } from '../../../../domain/chain/witnesses.ts';
import { keyOf } from '../../../follow/compare.ts';
import type { Header } from '../../../follow/header.ts';
import type { Outcomes } from '../../../rpc/batch.ts';
import type { Call } from '../../../rpc/call.ts';
import { RpcFailure } from '../../../rpc/failures.ts';
import type { Node } from '../../../rpc/node.ts';
import { answerTo, callsOf, type TransactionCalls, transactionCalls } from '../../coin/transfers.ts';
import { blockAt } from '../../rpc/calls.ts';
import type { EvmPoll } from '../evm-poll.ts';

/**
 * Votes of nodes on single facts. A node shows a fact with its logs, or with the receipt of its transaction. A node
 * that has the block, and whose receipt is missing or does not have the log, denies the fact. Any other answer is not a
 * vote. Votes compare raw logs, so that a changed source does not change a vote.
 */

/** A fact with its position and the votes so far. */
export type Question = FactKey & {
  readonly transactionHash: string;
  readonly position: Position;
  readonly isHeld: boolean;
  readonly isCoin?: boolean;
  readonly votes: Votes;
};

export type Judged<Asked extends Question = Question> = Asked & { readonly verdict: Verdict };

const RECEIPTS_A_REQUEST = 100;

/**
 * Asks for receipts until each fact has a verdict or every present node has been asked. Nodes may each have denied a
 * fact for a moment, at different times. So a denial counts only if the node gives it again in this function call.
 */
export async function takeVotes<Asked extends Question>(
  poll: EvmPoll,
  questions: readonly Asked[],
  isAskedAgain = false,
): Promise<Judged<Asked>[]> {
  const { witnesses } = poll.follow;
  const { present } = witnesses;
  const isConfirmed = ({ votes }: Asked) => witnesses.judge(votes, false) === 'confirmed';
  if (!isAskedAgain && questions.every(isConfirmed)) {
    return questions.map((question) => ({ ...question, verdict: 'confirmed' }));
  }
  const asked = new Map(questions.map((question) => [placeOf(question), question]));
  const answered = new Set<string>();
  const ask = async (node: Node, isWanted: (question: Asked) => boolean) => {
    for (const question of await voteOf(poll, node, [...asked.values()].filter(isWanted))) {
      asked.set(placeOf(question), question);
      answered.add(`${node.id} ${placeOf(question)}`);
    }
  };
  const verdictNow = ({ votes }: Asked) => witnesses.judge(votes, false);
  const isAnswered = (node: string, question: Asked) => answered.has(`${node} ${placeOf(question)}`);
  const reachable = present.flatMap(({ node }) => (node.waitMs > 0 ? [] : node));
  for (const node of reachable) {
    await ask(node, (one) => isAskedAgain || (verdictNow(one) === 'open' && !hasVoted(one.votes, node.id)));
  }
  for (const node of reachable) {
    await ask(node, (one) => verdictNow(one) === 'denied' && hasDenied(one, node.id) && !isAnswered(node.id, one));
  }
  const judged = [...asked.values()].map((question) => {
    const no = question.votes.no.filter((node) => isAnswered(node, question));
    const votes = verdictNow(question) === 'denied' ? { ...question.votes, no } : question.votes;
    // Once a node has denied a fact, the verdict does not wait for nodes that cannot vote now.
    const isDenied = question.votes.no.length > 0;
    const isComplete = present.every((each) => hasVoted(votes, each.node.id) || (isDenied && each.isUseless));
    return { ...question, votes, verdict: witnesses.judge(votes, isComplete) };
  });
  noteInventions(poll, judged);
  return judged;
}

function hasDenied({ votes }: Question, id: string): boolean {
  return votes.no.includes(id);
}

function placeOf(question: Question): string {
  return `${keyOf(question)} ${question.position.blockHash}`;
}

function hasVoted({ yes, no }: Votes, id: string): boolean {
  return yes.includes(id) || no.includes(id);
}

/** Notes the nodes that showed a fact which most nodes deny. They do not lead for a while. */
function noteInventions({ follow }: EvmPoll, judged: readonly Judged[]): void {
  const denied = judged.filter(({ verdict }) => verdict === 'denied');
  for (const witness of follow.witnesses.all) {
    if (denied.some(({ votes }) => votes.yes.includes(witness.node.id))) witness.inventedAtMs = follow.clock.nowMs();
  }
}

/** Adds the votes of this node to the questions. A node that does not answer, or is on another branch, casts no vote. */
async function voteOf<Asked extends Question>(
  poll: EvmPoll,
  node: Node,
  questions: readonly Asked[],
): Promise<Asked[]> {
  const voted: Asked[] = [];
  for (let at = 0; at < questions.length; at += RECEIPTS_A_REQUEST) {
    const part = questions.slice(at, at + RECEIPTS_A_REQUEST);
    const blocks = new Map(part.map(({ position }) => [position.blockNumber, blockAt(position.blockNumber)]));
    const transactions = transactionCalls(part);
    const outcomes = await sendOrNull(node, [...blocks.values(), ...callsOf(transactions.values())]);
    if (outcomes === null) return voted;
    for (const question of part) {
      const isYes = readVote(poll, question, outcomes, {
        block: blocks.get(question.position.blockNumber),
        transaction: transactions.get(question.transactionHash),
      });
      if (isYes !== null) voted.push({ ...question, votes: withVote(question.votes, node.id, isYes) });
    }
  }
  return voted;
}

type Calls = {
  readonly block: Call<Header | null> | undefined;
  readonly transaction: TransactionCalls | undefined;
};

/** Null for an answer that is not a vote. */
function readVote(
  { follow }: EvmPoll,
  question: Question,
  outcomes: Outcomes,
  { block, transaction }: Calls,
): boolean | null {
  const { position, factId, isHeld } = question;
  if (block === undefined || transaction === undefined) return null;
  if (outcomes.valueOrNull(block)?.hash !== position.blockHash) return null;
  const found = answerTo(transaction, outcomes);
  if (found === undefined) return null;
  if (found === null) return false;
  if (found.blockHash !== position.blockHash) return null;
  if (isHeld) return found.isSuccess;
  const logs = found.logs.filter(({ transactionHash }) => transactionHash === question.transactionHash);
  return follow.decoder.identify(follow.options.networkId, logs).has(factId);
}

async function sendOrNull(node: Node, calls: readonly Call<unknown>[]): Promise<Outcomes | null> {
  try {
    return await node.send(calls, 'votes');
  } catch (error) {
    if (error instanceof RpcFailure) return null;
    throw error;
  }
}

/** Adds the vote of this node to the changes. With a quorum of one, this vote confirms them. */
export function shownBy({ follow }: EvmPoll, node: Node, changes: readonly FactChange[]): FactChange[] {
  const votes: Votes = { yes: [node.id], no: [] };
  const evidence: Evidence = { votes, standing: follow.witnesses.quorum === 1 ? 'confirmed' : 'open' };
  return changes.map((change) => ('fact' in change || 'position' in change ? { ...change, evidence } : change));
}

/** The change that a verdict makes to a stored fact; null for none. */
export function changeOf({ entityId, factId, votes, verdict }: Judged): FactChange | null {
  if (verdict === 'open') return null;
  if (verdict === 'denied') return { change: 'retracted', entityId, factId, reason: 'not_on_chain', votes };
  return { change: 'judged', entityId, factId, evidence: { votes, standing: verdict } };
}
