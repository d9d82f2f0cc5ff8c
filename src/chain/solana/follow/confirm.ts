import type { FactChange, StoredFact } from '../../../domain/chain/facts.ts';
import { keyOf } from '../../follow/compare.ts';
import type { Node } from '../../rpc/node.ts';
import { fetchTransactions } from './lists.ts';
import { write } from './live.ts';
import { newBlocks, noteReorg, placeTransactions, readBlocks } from './place.ts';
import { SLOT_MS, type SolanaPoll } from './solana-poll.ts';
import { isVotedFinal, readOpenFacts } from './statuses.ts';

/**
 * Finality rises to the highest slot that a quorum of nodes calls finalized. It rises past a fact only if a quorum
 * calls the fact finalized in its slot, and if the slot still has the block in which the fact was found.
 */

/** Limit on the blocks compared in one poll. Finality waits below the next block. */
const MAX_BLOCKS = 50;

export async function confirmFinality(poll: SolanaPoll, leader: Node): Promise<void> {
  const { witnesses } = poll.follow;
  const agreed = witnesses.agree(poll.state).final;
  const open = await readOpenFacts(poll);
  await judgeUnconfirmed(poll);
  const before = poll.state.final ?? -1;
  if (agreed === null || agreed <= before) return;
  const above = open.flatMap((fact) => (fact.state === 'seen' && slotOf(fact) > before ? [fact] : []));
  const blocked = above.filter((fact) => !isVotedFinal(poll, fact)).map(slotOf);
  const highest = Math.min(agreed, poll.follow.memory.head ?? agreed, ...blocked.map((slot) => slot - 1));
  const passed = above.filter((fact) => slotOf(fact) <= highest);
  const { final, changes } = await compareBlocks(poll, leader, passed, highest);
  if (final <= before && changes.length === 0) return;
  const finalLagMs = learnLag(poll, final);
  await write(poll, poll.follow.memory.head ?? poll.state.head ?? final, changes, {});
  if (final > before) await poll.commit({ final, finalLagMs });
}

function slotOf({ position }: StoredFact): number {
  return position?.blockNumber ?? 0;
}

/** Confirms facts whose slots are final although the facts were not, if enough nodes have voted for them since then. */
async function judgeUnconfirmed(poll: SolanaPoll): Promise<void> {
  const judged = poll.lease.unconfirmed.filter((fact) => isVotedFinal(poll, fact));
  if (judged.length === 0) return;
  const changes = judged.map(
    ({ entityId, factId, votes }): FactChange => ({
      ...{ change: 'judged', entityId, factId },
      evidence: { votes, standing: 'confirmed' },
    }),
  );
  await write(poll, poll.follow.memory.head ?? poll.state.head ?? 0, changes, {});
}

type Compared = { readonly final: number; readonly changes: readonly FactChange[] };

/**
 * Compares the blocks of the facts with the node's blocks. If a slot has another block now, reads the transactions
 * again.
 */
async function compareBlocks(
  poll: SolanaPoll,
  node: Node,
  facts: readonly StoredFact[],
  highest: number,
): Promise<Compared> {
  if (facts.length === 0) return { final: highest, changes: [] };
  const slots = [...new Set(facts.map(slotOf))].sort((a, b) => a - b);
  const asked = slots.slice(0, MAX_BLOCKS);
  const blocks = newBlocks();
  await readBlocks(node, asked, blocks);
  const wrong: StoredFact[] = [];
  let final = Math.min(highest, (slots[MAX_BLOCKS] ?? highest + 1) - 1);
  for (const slot of asked) {
    const hash = blocks.get(slot)?.hash;
    const others = facts.filter((fact) => slotOf(fact) === slot && fact.position?.blockHash !== hash);
    if (others.length === 0) continue;
    if (hash !== undefined) wrong.push(...others);
    final = Math.min(final, slot - 1);
  }
  return { final, changes: wrong.length === 0 ? [] : await replacedFacts(poll, node, wrong) };
}

async function replacedFacts(poll: SolanaPoll, node: Node, facts: readonly StoredFact[]): Promise<FactChange[]> {
  const { memory } = poll.follow;
  const signatures = [...new Map(facts.map((fact) => [fact.transactionHash, fact])).values()];
  const wanted = signatures.map((fact) => ({
    ...{ signature: fact.transactionHash, slot: slotOf(fact), isFailed: false, blockS: null },
  }));
  for (const { signature } of wanted) memory.transactions.delete(signature);
  await fetchTransactions(poll, node, wanted, { most: wanted.length, isAgain: true });
  const there = wanted.flatMap(({ signature, slot }) => {
    const transaction = memory.transactions.get(signature);
    return transaction?.slot === slot ? [transaction] : [];
  });
  const { found } = await placeTransactions(poll, node, there);
  const byKey = new Set(found.map(keyOf));
  const blocks = newBlocks();
  await readBlocks(node, facts.map(slotOf), blocks);
  const lostAtHead = memory.head ?? poll.state.head ?? 0;
  return facts.flatMap((fact): FactChange[] => {
    const { entityId, factId, position, transactionHash } = fact;
    const block = blocks.get(slotOf(fact)) ?? null;
    const isThere = there.some(({ signature }) => signature === transactionHash);
    if (position === null || block === null || !isThere) return [];
    noteReorg(poll, position.blockNumber);
    const stands = byKey.has(keyOf(fact)) || fact.isHeld || !poll.isFollowed(fact);
    if (!stands) return [{ change: 'lost', entityId, factId, lostAtHead }];
    return [{ change: 'moved', entityId, factId, position: { ...position, blockHash: block.hash } }];
  });
}

/** The usual time from a slot to its finality, as a moving average. */
function learnLag({ state: { head, finalLagMs } }: SolanaPoll, final: number): number | null {
  if (head === null) return finalLagMs;
  const lagMs = (head - final) * SLOT_MS;
  return Math.round(finalLagMs === null ? lagMs : finalLagMs * 0.9 + lagMs * 0.1);
}
