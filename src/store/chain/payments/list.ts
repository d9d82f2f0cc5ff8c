import { MAX_PAYMENTS_COUNTED, type PaymentList, type PaymentListQuery } from '../../../contract/chain/payments.ts';
import { DomainError } from '../../../domain/errors.ts';
import { type Database, longReadsOf, type Queries } from '../../database/database.ts';
import { Parameters, readInteger } from '../../database/sql.ts';
import { mergedText } from '../../list/merged.ts';
import { readByKeys } from '../../list/page.ts';
import { readNetworkLevels } from './levels.ts';
import { findMatches, type Matches } from './matches.ts';
import { paymentRowColumns, toPayments } from './view.ts';

/** Lists payments. The ids of a page come first, so that the statements read none of the skipped rows. */
export function listPayments(db: Database, entityId: string, query: PaymentListQuery): Promise<PaymentList> {
  return longReadsOf(db, entityId).snapshot(async (queries) => {
    const networks = await readNetworkLevels(queries);
    const matches = await findMatches(queries, db.dialect, entityId, query, networks);
    if (matches === null) return { totalResults: 0, isTotalExact: true, payments: [] };
    const offset = (query.page - 1) * query.limit;
    const { ids, ...total } = await readPageIds(queries, matches, query, offset);
    if (ids.length === 0) return { ...total, payments: [] };
    const source = { table: 'facts', columns: paymentRowColumns, parameters: [entityId] };
    const rows = await readByKeys(queries, source, 'factId', ids);
    return { ...total, payments: await toPayments(queries, db.dialect, entityId, rows, networks) };
  });
}

type Total = Pick<PaymentList, 'totalResults' | 'isTotalExact'>;

/** A first page that is not full has all matches, so that most searches need no count. */
async function readPageIds(
  queries: Queries,
  matches: Matches,
  query: PaymentListQuery,
  offset: number,
): Promise<Total & { readonly ids: readonly string[] }> {
  if (offset === 0) {
    const ids = await readIds(queries, matches, query, offset);
    if (ids.length < query.limit) return { totalResults: ids.length, isTotalExact: true, ids };
    return { ...(await countMatches(queries, matches)), ids };
  }
  const total = await countMatches(queries, matches);
  if (offset < total.totalResults) return { ...total, ids: await readIds(queries, matches, query, offset) };
  // Each skipped match is read, so that a deep page would take as long as a count of everything.
  if (!total.isTotalExact) throw new DomainError('page_too_deep', { limit: MAX_PAYMENTS_COUNTED });
  return { ...total, ids: [] };
}

/**
 * Counts up to a bound. Reading the index entries of 750,000 matches took 850 ms, and no counter knows the payments of an
 * account or of an amount.
 */
async function countMatches(queries: Queries, { alternatives, parameters }: Matches): Promise<Total> {
  const counts = alternatives.map(
    (where, index) =>
      `(select count(*) from (select 1 as found from facts where ${where} limit ${MAX_PAYMENTS_COUNTED + 1}) some${index})`,
  );
  const counted = await readInteger(queries, counts.join(' + '), '', parameters.values);
  return { totalResults: Math.min(counted, MAX_PAYMENTS_COUNTED), isTotalExact: counted <= MAX_PAYMENTS_COUNTED };
}

/** The order by date that no index has, so that an engine reads the few matches of another index and sorts them. */
const SORTED = 'coalesce(created_at_ms, 0)';

async function readIds(
  queries: Queries,
  { alternatives, parameters: { values }, isNarrow }: Matches,
  { sortDir: direction, limit: count }: Pick<PaymentListQuery, 'sortDir' | 'limit'>,
  skip: number,
): Promise<string[]> {
  const parameters = new Parameters(...values);
  const order = [isNarrow ? SORTED : 'created_at_ms', 'id'];
  const sources = alternatives.map((where) => ({
    columns: 'id, created_at_ms',
    from: `from facts where ${where}`,
    order,
  }));
  const text = mergedText(sources, ['created_at_ms', 'id'], { direction, skip, count }, parameters);
  const rows = await queries.all<{ id: string }>(text, parameters.values);
  return rows.map(({ id }) => id);
}
