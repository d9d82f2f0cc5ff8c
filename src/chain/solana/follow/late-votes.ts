import { RpcFailure } from '../../rpc/failures.ts';
import type { Node } from '../../rpc/node.ts';
import { MAX_STATUSES, statusesOf } from '../rpc/calls.ts';
import { type SolanaPoll, voterOf, votersNeeded } from './solana-poll.ts';

export type LateQuestion = { readonly signature: string; readonly slot: number };

/**
 * The nodes that call each transaction finalized in its slot, by signature and slot. Leaves out transactions with too
 * few nodes. A lone node must answer again in a later poll.
 */
export async function voteLate(
  poll: SolanaPoll,
  node: Node,
  questions: readonly LateQuestion[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { lateVotes } = poll.follow.memory;
  const needed = votersNeeded(poll);
  const nameOf = ({ signature, slot }: LateQuestion) => `${signature} ${slot}`;
  const isOpen = (question: LateQuestion) => (lateVotes.get(nameOf(question))?.size ?? 0) < needed;
  const distinct = [...new Map(questions.map((question) => [nameOf(question), question])).values()];
  for (const each of [node, ...poll.follow.nodes.others(node)]) {
    const open = distinct.filter(isOpen);
    for (let at = 0; at < open.length; at += MAX_STATUSES) {
      await askOne(poll, each, open.slice(at, at + MAX_STATUSES), (question, voter) => {
        const votes = lateVotes.get(nameOf(question)) ?? new Set();
        lateVotes.set(nameOf(question), votes.add(voter));
      });
    }
  }
  const enough = distinct.filter((question) => !isOpen(question));
  return new Map(
    enough.map((question) => [nameOf(question), [...(lateVotes.get(nameOf(question)) ?? [])].map(nodeIn)]),
  );
}

/** The node id of a voter. The voter of a lone node also contains a slot. */
function nodeIn(voter: string): string {
  return voter.split(' ')[0] ?? voter;
}

async function askOne(
  poll: SolanaPoll,
  node: Node,
  questions: readonly LateQuestion[],
  onYes: (question: LateQuestion, voter: string) => void,
): Promise<void> {
  const call = statusesOf(questions.map(({ signature }) => signature));
  try {
    const { slot, statuses } = (await node.send([call], 'votes')).value(call);
    const voter = voterOf(poll, node.id, slot);
    for (const [place, question] of questions.entries()) {
      const status = statuses[place] ?? null;
      const isFinal = status !== null && !status.isFailed && status.level === 'finalized';
      if (isFinal && status.slot === question.slot) onYes(question, voter);
    }
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
  }
}
