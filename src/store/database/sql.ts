import { BoundedMap } from '../../bounded-map.ts';
import type { SqlValue } from './database.ts';

/** One statement takes at most this many rows: few enough texts to keep prepared, few enough parameters for SQLite. */
export const ROWS_PER_STATEMENT = 100;

/** There are as many as there are numbers of rows, for each list of columns. */
const MAX_LISTS = 2_000;
const lists = new BoundedMap<string, string>(MAX_LISTS);

/** `($1, $2), ($3, $4)` for two rows of two, numbered after the parameters that stand before; each written once. */
export function valuesList(rows: number, columns: number, before = 0, casts: readonly string[] = []): string {
  const key = `${rows} ${columns} ${before} ${casts}`;
  const known = lists.get(key);
  if (known !== undefined) return known;
  const list = writeList(rows, columns, before, casts);
  lists.set(key, list);
  return list;
}

function writeList(rows: number, columns: number, before: number, casts: readonly string[]): string {
  const row = (index: number) =>
    Array.from({ length: columns }, (_, column) => {
      const parameter = `$${before + index * columns + column + 1}`;
      const type = casts[column];
      return type === undefined ? parameter : `cast(${parameter} as ${type})`;
    }).join(', ');
  return Array.from({ length: rows }, (_, index) => `(${row(index)})`).join(', ');
}

/** A text that differs by its number of rows alone: written once for each, and so found among the prepared at once. */
export function textByRows(write: (rows: number) => string): (rows: number) => string {
  const texts: (string | undefined)[] = [];
  return (rows) => {
    const text = texts[rows] ?? write(rows);
    texts[rows] = text;
    return text;
  };
}

export function* chunks<Item>(items: readonly Item[], size = ROWS_PER_STATEMENT): Generator<readonly Item[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

/** A growing list of parameters: `bind(value)` gives the `$n` to write into the text. */
export class Parameters {
  readonly values: SqlValue[] = [];

  bind(value: SqlValue): string {
    return `$${this.values.push(value)}`;
  }
}
