import type { Parameters } from '../database/sql.ts';
import type { Direction, Slice } from './page.ts';

/** Matches in the order of an index: the columns of the order, `from … where …`, and the order itself. */
export type OrderedSource = { readonly columns: string; readonly from: string; readonly order: readonly string[] };

/**
 * A statement that merges the first rows of every source and returns the keys in the window, so that skipped keys are not decoded.
 * `by` is the order by the columns that the sources name, of which the last is `id`.
 */
export function mergedText(
  sources: readonly OrderedSource[],
  by: readonly string[],
  { direction, skip, count }: Slice,
  parameters: Parameters,
): string {
  const most = parameters.bind(skip + count);
  const lists = sources.map(
    ({ columns, from, order }, index) =>
      `select ${by.join(', ')} from (select ${columns} ${from} order by ${sorted(order, direction)} limit ${most}) list${index}`,
  );
  return `select id from (${lists.join(' union all ')}) lists order by ${sorted(by, direction)}
    limit ${parameters.bind(count)} offset ${parameters.bind(skip)}`;
}

function sorted(order: readonly string[], direction: Direction): string {
  return order.map((each) => `${each} ${direction}`).join(', ');
}
