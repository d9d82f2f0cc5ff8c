import { type FactState, MAX_HISTORY_SHOWN } from '../../../domain/chain/facts.ts';

/**
 * Every state and every position that a fact had, oldest first, in a column of the fact: JSON objects joined by commas. An object
 * has only the fields that differ from the object before it. Writing them to a separate table took as long as writing the facts
 * themselves.
 */

/** One state of a fact, and the block in which it stood. */
export type HistoryEntry = {
  readonly atMs: number;
  readonly state: FactState;
  readonly revision: number;
  readonly blockNumber: number | null;
  readonly blockHash: string | null;
  readonly logIndex: number | null;
  readonly isDisputed: number;
};

/** Limit on the text of a history. A fact that comes and goes with every block keeps its latest entries. */
const MAX_LENGTH = 50_000;

export function historyOf(entry: HistoryEntry): string {
  const { atMs, state, revision, blockNumber, blockHash, logIndex, isDisputed } = entry;
  const hash = JSON.stringify(blockHash);
  return `{"atMs":${atMs},"state":"${state}","revision":${revision},"blockNumber":${blockNumber},"blockHash":${hash},"logIndex":${logIndex},"isDisputed":${isDisputed}}`;
}

export function parseHistory(history: string): HistoryEntry[] {
  const entries: HistoryEntry[] = [];
  for (const entry of JSON.parse(`[${history}]`) as HistoryEntry[]) entries.push({ ...entries.at(-1), ...entry });
  return entries;
}

/** The history with one more entry. */
export function withEntry(history: string, entry: HistoryEntry): string {
  const before = history.length > MAX_LENGTH ? latestOf(history) : history;
  return before === '' ? historyOf(entry) : `${before},${historyOf(entry)}`;
}

function latestOf(history: string): string {
  return parseHistory(history).slice(-MAX_HISTORY_SHOWN).map(historyOf).join();
}

/** The entry to add to the histories of facts that become final where they stand. */
export function finalEntry(atMs: number): string {
  return `,${JSON.stringify({ atMs, state: 'final', isDisputed: 0 })}`;
}
