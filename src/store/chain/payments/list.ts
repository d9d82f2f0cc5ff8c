import type { PaymentList, PaymentListQuery } from '../../../contract/chain/payments.ts';
import { type Database, longReadsOf, type Queries } from '../../database/database.ts';
import { Parameters, readInteger } from '../../database/sql.ts';
import { readNetworkLevels } from './levels.ts';
import { findMatches, type Matches } from './matches.ts';
import { paymentRowColumns, toPayments } from './view.ts';

/** Lists payments with exact totals. The ids of a page come first, so that nothing that is skipped is read. */
export function listPayments(db: Database, entityId: string, query: PaymentListQuery): Promise<PaymentList> {
  return longReadsOf(db, entityId).snapshot(async (queries) => {
    const networks = await readNetworkLevels(queries);
    const matches = await findMatches(queries, db.dialect, entityId, query, networks);
    if (matches === null) return { totalResults: 0, payments: [] };
    const totalResults = await countMatches(queries, matches);
    const offset = (query.page - 1) * query.limit;
    if (offset >= totalResults) return { totalResults, payments: [] };
    const ids = await readIds(queries, matches, query, offset);
    const parameters = new Parameters(entityId);
    const rows = await paymentRowColumns.all(
      queries,
      `select ${paymentRowColumns.list} from facts where entity_id = $1 and id in ${parameters.list(ids)}`,
      parameters.values,
    );
    const byId = new Map(rows.map((row) => [row.factId, row]));
    const inOrder = ids.flatMap((id) => byId.get(id) ?? []);
    return { totalResults, payments: await toPayments(queries, db.dialect, entityId, inOrder, networks) };
  });
}

function countMatches(queries: Queries, { alternatives, parameters }: Matches): Promise<number> {
  const counts = alternatives.map((where) => `(select count(*) from facts where ${where})`);
  return readInteger(queries, counts.join(' + '), '', parameters.values);
}

/** The order by date that no index has, so that an engine reads the few matches of another index and sorts them. */
const SORTED = 'coalesce(created_at_ms, 0)';

async function readIds(
  queries: Queries,
  { alternatives, parameters: { values }, isNarrow }: Matches,
  { sortDir, limit }: Pick<PaymentListQuery, 'sortDir' | 'limit'>,
  offset: number,
): Promise<string[]> {
  const parameters = new Parameters(...values);
  const most = parameters.bind(offset + limit);
  const order = `order by ${isNarrow ? SORTED : 'created_at_ms'} ${sortDir}, id ${sortDir}`;
  const lists = alternatives.map(
    (where, index) =>
      `select id, created_at_ms from (select id, created_at_ms from facts where ${where} ${order} limit ${most}) list${index}`,
  );
  const rows = await queries.all<{ id: string }>(
    `select id from (${lists.join(' union all ')}) lists order by created_at_ms ${sortDir}, id ${sortDir}
     limit ${parameters.bind(limit)} offset ${parameters.bind(offset)}`,
    parameters.values,
  );
  return rows.map(({ id }) => id);
}
