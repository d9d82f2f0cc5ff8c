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
  /** Set where rows are wide and belong to an entity, `$1`: deep in the list, what is skipped is not read. */
  keysFirst?: boolean;
  /** Called with the keys of the page before its rows are read; throws where they are too much for one answer. */
  weigh?: ((queries: Queries, keys: readonly string[]) => Promise<void>) | undefined;
};

/** From here on a second statement costs less than to read the rows that are skipped. */
const DEEP = 1_000;

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

async function readPart<Row>(
  queries: Queries,
  source: ListSource,
  { where, order }: ListPart,
  sortDir: PageQuery['sortDir'],
  limit: number,
  offset: number,
): Promise<Row[]> {
  const { table, columns, parameters, keysFirst, weigh } = source;
  const next = parameters.length + 1;
  const page = `from ${table} where ${where}
    order by ${order.map((column) => `${column} ${sortDir}`).join(', ')} limit $${next} offset $${next + 1}`;
  const values = [...parameters, limit, offset];
  await weigh?.(queries, await readKeys(queries, `select id ${page}`, values));
  if (!keysFirst || offset < DEEP) return queries.all<Row>(`select ${columns} ${page}`, values);
  return readByKeys(queries, source, `select id ${page}`, values);
}

/**
 * In two statements and put in order here: as one with a join, PostgreSQL with statistics from before the entity grew
 * took 2.7 s for a page of 3,000, and SQLite walked the index of the order once more to spare itself a sort.
 */
async function readByKeys<Row>(
  queries: Queries,
  { table, columns, parameters: [entityId = null] }: ListSource,
  keysText: string,
  values: readonly SqlValue[],
): Promise<Row[]> {
  const keys = await readKeys(queries, keysText, values);
  const rows = await queries.all<Row & { id: string }>(
    `select ${columns} from ${table}
     where entity_id = $1 and id in (${keys.map((_, index) => `$${index + 2}`).join(', ')})`,
    [entityId, ...keys],
  );
  const byKey = new Map(rows.map((row) => [row.id, row]));
  return keys.flatMap((key) => byKey.get(key) ?? []);
}

async function readKeys(queries: Queries, text: string, values: readonly SqlValue[]): Promise<string[]> {
  return (await queries.all<{ id: string }>(text, values)).map(({ id }) => id);
}
