import type { FactChange } from '../../../src/domain/chain/facts.ts';
import type { Span } from '../model/history.ts';
import type { Evidence } from './evidence.ts';

/**
 * When a revision of a fact was first seen. Without failures, the attempts to write its sights are its revisions. After a
 * failure, all of them together are the time in which it may have been.
 */
export function firstSight({ simulation }: Evidence, factId: string, revision: number): Span | null {
  const attempts = simulation.network.steps.filter(({ changes }) => changes.some((change) => isSight(change, factId)));
  const exact = attempts[revision - 1];
  if (exact === undefined) return null;
  if (attempts.every(({ isCommitted }) => isCommitted)) return exact;
  const [first] = attempts;
  return { startMs: first?.startMs ?? 0, endMs: Math.max(...attempts.map(({ endMs }) => endMs)) };
}

function isSight(change: FactChange, factId: string): boolean {
  if (change.change === 'seen') return change.fact.factId === factId;
  return change.change === 'again' && change.factId === factId;
}
