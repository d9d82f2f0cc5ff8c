import { MAX_EVENT_BYTES } from '../../contract/events/size.ts';
import { DEFAULT_LIMIT } from '../../contract/list-query.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Queries, Reads, SqlValue } from '../database/database.ts';
import { Columns, Parameters, readInteger, type Shape, type Values } from '../database/sql.ts';

/**
 * The engine of every list. It counts the matches, finds the page from the nearer end of their order, and reads its rows. Lists
 * whose totals come from counters find the part to read with `buckets.ts`; lists that several indexes serve merge them with
 * `merged.ts`.
 */

export type PageQuery = { page: number; limit: number; sortDir: 'asc' | 'desc' };
export type Direction = PageQuery['sortDir'];

/** Rows of an ordered list: how many to skip, and how many to read then. */
export type Slice = { readonly direction: Direction; readonly skip: number; readonly count: number };

/** The rows of a page, from the nearer end of the list. */
export type Window = Slice & { readonly isBackwards: boolean };

/** Null for a page past the end. */
export function windowOf({ page, limit, sortDir }: PageQuery, totalResults: number): Window | null {
  const before = (page - 1) * limit;
  if (before >= totalResults) return null;
  const count = Math.min(limit, totalResults - before);
  const behind = totalResults - before - count;
  const isBackwards = behind < before;
  const direction = (sortDir === 'asc') !== isBackwards ? 'asc' : 'desc';
  return { direction, skip: isBackwards ? behind : before, count, isBackwards };
}

/** Puts rows that were read in the direction of the window into the order of the list. */
export function inOrder<Row>({ isBackwards }: Window, rows: Row[]): Row[] {
  return isBackwards ? rows.reverse() : rows;
}

/** All matches in their order. `table`, `where` and `order` are SQL; values are parameters. */
export type ListSource<S extends Shape> = {
  readonly table: string;
  /** Names the index to read along, if the engine would choose a worse one: `byIndex` of the dialect. */
  readonly index?: string;
  readonly columns: Columns<S>;
  readonly where: string;
  readonly order: readonly string[];
  readonly parameters: readonly SqlValue[];
  /** An expression for the total that is cheaper than counting every match. */
  readonly count?: string | undefined;
  /**
   * For rows of an entity, which is `$1`. If at least `from` rows are skipped, one statement reads keys from the index alone, and
   * a second statement reads the rows with these keys.
   */
  readonly keys?: { readonly name: keyof S & string; readonly from: number };
  /** For rows that can be large: an expression for their bytes, and how many rows fit into one response at any size. */
  readonly size?: { readonly bytes: string; readonly fits: number };
};

/** The count of all matches and one page of them, read in one snapshot. */
export function readPage<S extends Shape>(
  reads: Reads,
  source: ListSource<S>,
  query: PageQuery,
): Promise<{ totalResults: number; rows: Values<S>[] }> {
  return reads.snapshot(async (queries) => {
    const { table, where, count, parameters } = source;
    const [total, from] = count === undefined ? ['count(*)', `from ${table} where ${where}`] : [count, ''];
    const totalResults = await readInteger(queries, total, from, parameters);
    const window = windowOf(query, totalResults);
    return { totalResults, rows: window === null ? [] : await readWindow(queries, source, window) };
  });
}

/** The rows of a page, in the order of the list. */
export async function readWindow<S extends Shape>(
  queries: Queries,
  source: ListSource<S>,
  window: Window,
): Promise<Values<S>[]> {
  const { table, index = '', columns, where, order, keys, size } = source;
  const parameters = new Parameters(...source.parameters);
  const page = `from ${table} ${index} where ${where} order by ${order.map((each) => `${each} ${window.direction}`).join(', ')}
    limit ${parameters.bind(window.count)} offset ${parameters.bind(window.skip)}`;
  if (keys !== undefined && window.skip >= keys.from) {
    const { name } = keys;
    const keyColumn = new Columns({ [name]: columns.shape[name] } as Pick<S, typeof name>);
    const found = await keyColumn.all(queries, `select ${keyColumn.list} ${page}`, parameters.values);
    const wanted = found.map((row) => row[name] as SqlValue);
    return readByKeys(queries, source, name, inOrder(window, wanted));
  }
  if (size !== undefined && window.count > size.fits) await requireLight(queries, size.bytes, page, parameters.values);
  return inOrder(window, await columns.all(queries, `select ${columns.list} ${page}`, parameters.values));
}

/**
 * The rows of an entity with these keys, in the order of the keys. Keys and rows are read with two statements, because a planner
 * would join them. PostgreSQL, with statistics from before the entity grew, then took 2.7 s for a page of 3,000. SQLite read the
 * index of the order a second time to avoid a sort.
 */
export async function readByKeys<S extends Shape>(
  queries: Queries,
  source: Pick<ListSource<S>, 'table' | 'columns' | 'parameters' | 'size'>,
  name: keyof S,
  keys: readonly SqlValue[],
): Promise<Values<S>[]> {
  if (keys.length === 0) return [];
  const {
    table,
    columns,
    parameters: [entity = null],
    size,
  } = source;
  const parameters = new Parameters(entity);
  const from = `from ${table} where entity_id = $1 and ${columns.shape[name]?.sql} in ${parameters.list(keys)}`;
  if (size !== undefined && keys.length > size.fits) await requireLight(queries, size.bytes, from, parameters.values);
  const rows = await columns.all(queries, `select ${columns.list} ${from}`, parameters.values);
  const byKey = new Map(rows.map((row) => [textOf(row[name]), row]));
  return keys.map((key) => byKey.get(textOf(key))).filter((row) => row !== undefined);
}

/** Makes equal keys comparable. SQLite returns keys of 16 bytes as arrays. */
function textOf(key: unknown): unknown {
  return key instanceof Uint8Array ? Buffer.from(key).toString('hex') : key;
}

/** A page of the default length always fits, however large its events are. */
const MAX_PAGE_BYTES = DEFAULT_LIMIT * MAX_EVENT_BYTES;

/**
 * Rejects a page that is too large before its rows are read. Thirty responses of a hundred large events each took 800 MB, and
 * every other request waited for seconds.
 */
async function requireLight(
  queries: Queries,
  bytesOfRow: string,
  rows: string,
  parameters: readonly SqlValue[],
): Promise<void> {
  const from = `from (select ${bytesOfRow} as bytes ${rows}) page`;
  const bytes = await readInteger(queries, 'sum(bytes)', from, parameters);
  if (bytes > MAX_PAGE_BYTES) throw new DomainError('page_too_large', { bytes, limitBytes: MAX_PAGE_BYTES });
}

/** Skipping more matches than these takes too long for one request. */
export const MAX_SKIPPED = 25_000;

export function requireNear(skip: number, limit = MAX_SKIPPED): void {
  if (skip > limit) throw new DomainError('page_too_deep', { limit });
}
