import type { Database, SqlInteger, SqlValue } from './database.ts';

export type PageQuery = { page: number; limit: number; sortDir: 'asc' | 'desc' };

/** A plain list along an index: `where` and `order` are our own text, values travel as parameters. */
export type ListSource = {
  table: string;
  columns: string;
  where: string;
  order: readonly string[];
  parameters: readonly SqlValue[];
};

/** The count of all matches and one page of them, of one moment. */
export function readPage<Row>(
  db: Database,
  { table, columns, where, order, parameters }: ListSource,
  { page, limit, sortDir }: PageQuery,
): Promise<{ totalResults: number; rows: Row[] }> {
  return db.snapshot(async (queries) => {
    const count = await queries.get<{ total: SqlInteger }>(
      `select count(*) as total from ${table} where ${where}`,
      parameters,
    );
    const totalResults = Number(count?.total ?? 0);
    const offset = (page - 1) * limit;
    if (offset >= totalResults) return { totalResults, rows: [] };
    const next = parameters.length + 1;
    const rows = await queries.all<Row>(
      `select ${columns} from ${table} where ${where}
       order by ${order.map((column) => `${column} ${sortDir}`).join(', ')} limit $${next} offset $${next + 1}`,
      [...parameters, limit, offset],
    );
    return { totalResults, rows };
  });
}
