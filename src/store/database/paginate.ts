import { MAX_EVENT_BYTES } from '../../contract/events.ts';
import { DEFAULT_LIMIT } from '../../contract/list-query.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Queries, Reads, SqlValue } from './database.ts';
import { type Columns, Parameters, readInteger, type Shape, type Values } from './sql.ts';

export type PageQuery = { page: number; limit: number; sortDir: 'asc' | 'desc' };

/** Matches that are next to each other in the order. `where` and `order` are SQL; values are parameters. */
export type Section = { where: string; order: readonly string[] };

export type ListSource<S extends Shape> = Section & {
  table: string;
  columns: Columns<S>;
  parameters: readonly SqlValue[];
  /** An expression for the total that is cheaper than counting every match. */
  count?: string | undefined;
  /** If no single index has the whole order: all matches in two sections, ascending from the first to the second. */
  sections?: readonly [Section, Section];
  /** For wide rows of an entity, which is `$1`: deep in the list, only the keys of skipped rows are read. */
  keysFirst?: boolean;
  /** An expression for the bytes of a row, if a page of the longest rows is too large for one response. */
  rowBytes?: string;
};

/** A page of events of the default length always fits, whatever they are like. */
const MAX_PAGE_BYTES = DEFAULT_LIMIT * MAX_EVENT_BYTES;

/**
 * Rejects a page that is too large, before its rows are read. Thirty responses of a hundred large events each took 800
 * MB and kept every other request waiting for seconds.
 */
export async function requireLight(
  queries: Pick<Queries, 'get'>,
  rowBytes: string,
  from: string,
  parameters: readonly SqlValue[],
): Promise<void> {
  const bytes = await readInteger(queries, `sum(${rowBytes})`, from, parameters);
  if (bytes > MAX_PAGE_BYTES) throw new DomainError('page_too_large', { bytes, limitBytes: MAX_PAGE_BYTES });
}

/** From this offset on, a second statement costs less than reading the rows that are skipped. */
const DEEP = 1_000;

/** The count of all matches and one page of them, read in one snapshot. */
export function readPage<S extends Shape>(
  reads: Reads,
  source: ListSource<S>,
  { page, limit, sortDir }: PageQuery,
): Promise<{ totalResults: number; rows: Values<S>[] }> {
  return reads.snapshot(async (queries) => {
    const totalResults = await countMatches(queries, source);
    const offset = (page - 1) * limit;
    if (offset >= totalResults) return { totalResults, rows: [] };
    const rows: Values<S>[] = [];
    let skip = offset;
    for (const { section, size } of await sectionsOf(queries, source, totalResults, sortDir)) {
      const wanted = limit - rows.length;
      if (wanted > 0 && skip < size) {
        rows.push(...(await readSection(queries, source, section, { sortDir, limit: wanted, offset: skip })));
      }
      skip = Math.max(0, skip - size);
    }
    return { totalResults, rows };
  });
}

async function sectionsOf<S extends Shape>(
  queries: Queries,
  source: ListSource<S>,
  totalResults: number,
  sortDir: PageQuery['sortDir'],
): Promise<{ section: Section; size: number }[]> {
  if (source.sections === undefined) return [{ section: source, size: totalResults }];
  const [first, second] = source.sections;
  const size = await countMatches(queries, { ...source, ...first, count: undefined });
  const sections = [
    { section: first, size },
    { section: second, size: totalResults - size },
  ];
  return sortDir === 'asc' ? sections : sections.reverse();
}

export function countMatches<S extends Shape>(
  queries: Pick<Queries, 'get'>,
  { table, where, count, parameters }: ListSource<S>,
): Promise<number> {
  if (count !== undefined) return readInteger(queries, count, '', parameters);
  return readInteger(queries, 'count(*)', `from ${table} where ${where}`, parameters);
}

type Window = { sortDir: PageQuery['sortDir']; limit: number; offset: number };

async function readSection<S extends Shape>(
  queries: Queries,
  source: ListSource<S>,
  { where, order }: Section,
  { sortDir, limit, offset }: Window,
): Promise<Values<S>[]> {
  const { table, columns, keysFirst, rowBytes } = source;
  const parameters = new Parameters(...source.parameters);
  const page = `from ${table} where ${where} order by ${order.map((column) => `${column} ${sortDir}`).join(', ')}
    limit ${parameters.bind(limit)} offset ${parameters.bind(offset)}`;
  // A single row is always given: a client cannot ask for less.
  if (rowBytes !== undefined && limit > 1) {
    await requireLight(queries, 'bytes', `from (select ${rowBytes} as bytes ${page}) page`, parameters.values);
  }
  if (!keysFirst || offset < DEEP) return columns.all(queries, `select ${columns.list} ${page}`, parameters.values);
  const rows = await queries.all<{ id: string }>(`select id ${page}`, parameters.values);
  const keys = rows.map(({ id }) => id);
  return readByKeys(queries, source, keys);
}

/**
 * Two statements, sorted here. With a join in one statement, PostgreSQL took 2.7 s for a page of 3,000, by statistics
 * from before the entity grew. SQLite read the index of the order a second time to avoid a sort.
 */
async function readByKeys<S extends Shape>(
  queries: Queries,
  { table, columns, parameters: [entityId = null] }: ListSource<S>,
  keys: readonly string[],
): Promise<Values<S>[]> {
  const parameters = new Parameters(entityId);
  const rows = await columns.all(
    queries,
    `select ${columns.list} from ${table} where entity_id = $1 and id in ${parameters.list(keys)}`,
    parameters.values,
  );
  const key = columns.propertyOf('id');
  const byKey = new Map<unknown, Values<S>>(rows.map((row) => [row[key], row]));
  return keys.map((each) => byKey.get(each)).filter((row) => row !== undefined);
}
