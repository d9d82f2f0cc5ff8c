import type { Database, Queries, SqlInteger, SqlValue } from './database.ts';

export type PageQuery = { page: number; limit: number; sortDir: 'asc' | 'desc' };

/** Matches that stand together in the order; `where` and `order` are our own text. */
export type ListPart = { where: string; order: readonly string[] };

/** A plain list along an index: values travel as parameters. */
export type ListSource = ListPart & {
  table: string;
  columns: string;
  parameters: readonly SqlValue[];
  /** A way to `total` that is shorter than to look at each match. */
  count?: string | undefined;
  /** All matches in two lots, the first before the second when ascending, where no one index has the whole order. */
  lots?: readonly [ListPart, ListPart];
  /** Set where rows are wide: the keys of the page are found first, so that what is skipped is not read. */
  keysWithin?: string;
};

/** The count of all matches and one page of them, of one moment. */
export function readPage<Row>(
  db: Database,
  source: ListSource,
  { page, limit, sortDir }: PageQuery,
): Promise<{ totalResults: number; rows: Row[] }> {
  return db.snapshot(async (queries) => {
    const totalResults = await countMatches(queries, source);
    const offset = (page - 1) * limit;
    if (offset >= totalResults) return { totalResults, rows: [] };
    const rows: Row[] = [];
    let skip = offset;
    for (const { part, size } of await partsOf(queries, source, totalResults, sortDir)) {
      const wanted = limit - rows.length;
      if (wanted > 0 && skip < size) rows.push(...(await readPart<Row>(queries, source, part, sortDir, wanted, skip)));
      skip = Math.max(0, skip - size);
    }
    return { totalResults, rows };
  });
}

async function partsOf(
  queries: Queries,
  source: ListSource,
  totalResults: number,
  sortDir: PageQuery['sortDir'],
): Promise<{ part: ListPart; size: number }[]> {
  const { lots } = source;
  if (lots === undefined) return [{ part: source, size: totalResults }];
  const first = await countMatches(queries, { ...source, ...lots[0], count: undefined });
  const parts = [
    { part: lots[0], size: first },
    { part: lots[1], size: totalResults - first },
  ];
  return sortDir === 'asc' ? parts : parts.reverse();
}

export async function countMatches(
  queries: Pick<Queries, 'get'>,
  { table, where, count, parameters }: ListSource,
): Promise<number> {
  const text = count ?? `select count(*) as total from ${table} where ${where}`;
  return Number((await queries.get<{ total: SqlInteger }>(text, parameters))?.total ?? 0);
}

function readPart<Row>(
  queries: Queries,
  { table, columns, parameters, keysWithin }: ListSource,
  { where, order }: ListPart,
  sortDir: PageQuery['sortDir'],
  limit: number,
  offset: number,
): Promise<Row[]> {
  const next = parameters.length + 1;
  const ordered = `order by ${order.map((column) => `${column} ${sortDir}`).join(', ')}`;
  const page = `from ${table} where ${where} ${ordered} limit $${next} offset $${next + 1}`;
  // `cross join` in this order: SQLite would otherwise walk the index of the order again to spare itself a sort.
  const text =
    keysWithin === undefined
      ? `select ${columns} ${page}`
      : `with page as (select id as page_id ${page})
         select ${columns} from page cross join ${table} where ${keysWithin} and id = page_id ${ordered}`;
  return queries.all<Row>(text, [...parameters, limit, offset]);
}
