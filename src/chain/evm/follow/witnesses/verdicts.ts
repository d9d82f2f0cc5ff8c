import { NATIVE_TOKEN } from '../../../../domain/chain/coin.ts';
import type { FactChange, FactKey, StoredFact } from '../../../../domain/chain/facts.ts';
import { NO_VOTES } from '../../../../domain/chain/witnesses.ts';
import { keyOf, positionOf } from '../../../follow/compare.ts';
import { TAIL_BLOCKS } from '../blocks/anchors.ts';
import type { EvmPoll } from '../evm-poll.ts';
import type { ConfirmProgress } from '../memory.ts';
import { type Judged, type Question, takeVotes } from './votes.ts';

/**
 * Asks the other nodes about a fact that only one node shows, before the fact is stored. Returns the facts that stay
 * open. The caller must ask about them again, and must not treat them as absent.
 */
export async function withVerdicts(
  poll: EvmPoll,
  { votes }: Pick<ConfirmProgress, 'votes'>,
  changes: readonly FactChange[],
): Promise<{ readonly changes: FactChange[]; readonly open: FactKey[] }> {
  const { denied } = poll.follow.memory;
  const stored = await storedOf(poll, changes);
  const questions: (Question & { readonly change: FactChange; readonly place: string })[] = [];
  for (const change of changes) {
    const position = positionOf(change);
    if (position === null) continue;
    const { entityId, factId } = change.change === 'seen' ? change.fact : change;
    const place = `${keyOf({ entityId, factId })} ${position.blockHash}`;
    if (denied.has(place)) continue;
    const known = change.change === 'seen' ? null : stored.get(keyOf(change));
    const transactionHash = change.change === 'seen' ? change.fact.transactionHash : (known?.transactionHash ?? '');
    const isCoin = change.change === 'seen' ? change.fact.contract === NATIVE_TOKEN : known?.isCoin === true;
    const shown = votes.get(place) ?? NO_VOTES;
    questions.push({ change, place, entityId, factId, position, transactionHash, isHeld: false, isCoin, votes: shown });
  }
  const judged = await takeVotes(poll, questions);
  // Does not keep denials in the tail, because a node may have a new block a moment before its logs. They are asked
  // again before finality.
  const newestKept = (poll.state.tip?.number ?? 0) - TAIL_BLOCKS;
  for (const { place, position, votes: taken, verdict } of judged) {
    votes.set(place, taken);
    if (verdict === 'denied' && position.blockNumber <= newestKept) denied.set(place, true);
  }
  const others = changes.filter((change) => !('fact' in change || 'position' in change));
  const open = judged.filter(({ verdict }) => verdict === 'open');
  return { changes: [...others, ...judged.flatMap((one) => placedChange(one))], open };
}

function placedChange({ change, votes, verdict }: Judged & { readonly change: FactChange }): FactChange[] {
  if (verdict === 'denied' || verdict === 'open' || !('fact' in change || 'position' in change)) return [];
  return [{ ...change, evidence: { votes, standing: verdict } }];
}

/** The facts that are stored already. */
async function storedOf(poll: EvmPoll, changes: readonly FactChange[]): Promise<Map<string, StoredFact>> {
  const stored = changes.flatMap((change) => ('position' in change ? change : []));
  if (stored.length === 0) return new Map();
  const facts = await poll.follow.store.factsOf(stored);
  return new Map(facts.map((fact) => [keyOf(fact), fact]));
}
