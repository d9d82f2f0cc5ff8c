import { type Finality, finalityOf, type Levels, reachedBlock } from '../../domain/chain/finality.ts';
import type { Queries } from '../database/database.ts';
import { type FactRow, factColumns } from './facts/new-facts.ts';

/** Finds facts that reach a finality because newer blocks have come, and not because the facts have moved. */

/** A fact with the finalities that it has just reached. */
export type Reached = { readonly fact: FactRow; readonly finalities: Set<string> };

/** The blocks that reach a finality with this step: after `from`, up to `to`. */
type Window = { readonly finality: string; readonly from: number; readonly to: number };

/** How many facts may reach `safe` or `final` in one step. The next step reaches the remaining facts. */
const MAX_FACTS = 2_000;

function windowsOf(finalities: Iterable<string>, before: Levels, now: Levels): Window[] {
  return [...finalities].flatMap((finality) => {
    const level: Finality = finalityOf(finality);
    const to = reachedBlock(level, now);
    const from = reachedBlock(level, before) ?? -1;
    return to === null || to <= from ? [] : { finality, from, to };
  });
}

/** Overlapping and adjoining windows as one, so that each fact is read once. */
function merge(windows: readonly Window[]): { from: number; to: number }[] {
  const merged: { from: number; to: number }[] = [];
  for (const { from, to } of windows.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else merged.push({ from, to });
  }
  return merged;
}

export async function readReached(
  queries: Queries,
  networkId: number,
  finalities: Iterable<string>,
  before: Levels,
  now: Levels,
): Promise<Reached[]> {
  const windows = windowsOf(finalities, before, now);
  const reached = new Map<string, Reached>();
  const read = async (some: readonly Window[], states: string) => {
    for (const { from, to } of merge(some)) {
      const facts = await factColumns.all(
        queries,
        `select ${factColumns.list} from facts where network_id = $1 and block_number > $2 and block_number <= $3
           and state in ${states} order by block_number, log_index`,
        [networkId, from, to],
      );
      for (const fact of facts) {
        const key = `${fact.entityId} ${fact.factId}`;
        const { finalities: own } = reached.get(key) ?? { finalities: new Set<string>() };
        const block = fact.blockNumber ?? 0;
        for (const window of some) if (block > window.from && block <= window.to) own.add(window.finality);
        reached.set(key, { fact, finalities: own });
      }
    }
  };
  const isCounted = ({ finality }: Window) => typeof finalityOf(finality) === 'number';
  // Paybell counts confirmations beyond finality. A final fact has already reached `safe` and `final`.
  await read(windows.filter(isCounted), `('seen', 'final')`);
  await read(
    windows.filter((window) => !isCounted(window)),
    `('seen')`,
  );
  return [...reached.values()];
}

/**
 * How far `safe` or `final` may rise with this step. On some networks they rise by thousands of blocks at once, and one
 * transaction must stay small.
 */
export async function boundLevel(
  queries: Queries,
  networkId: number,
  before: number | null,
  now: number | null,
): Promise<number | null> {
  if (now === null || before === null || now <= before) return before ?? now;
  const row = await queries.get<{ block_number: number | string }>(
    `select block_number from facts where network_id = $1 and block_number > $2 and block_number <= $3
       and state = 'seen' order by block_number limit 1 offset ${MAX_FACTS}`,
    [networkId, before, now],
  );
  // A level rises by at least one block, however many facts the block has.
  return row === undefined ? now : Math.max(before + 1, Number(row.block_number) - 1);
}
