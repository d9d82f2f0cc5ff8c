import { MAX_PAYMENTS_COUNTED, type PaymentList, type PaymentListQuery } from '../../../contract/chain/payments.ts';
import { DomainError } from '../../../domain/errors.ts';
import { type Database, longReadsOf, type Queries, type SqlValue } from '../../database/database.ts';
import { Parameters, readInteger } from '../../database/sql.ts';
import { readByKeys } from '../../list/page.ts';
import { factTable } from '../tables.ts';
import { type NetworkLevels, readNetworkLevels } from './levels.ts';
import { findMatches, isStateComputed, type Matches } from './matches.ts';
import { type PaymentRow, paymentRowColumns, toPayments } from './view.ts';

/**
 * Lists payments. Statements that need no result of each other are sent together, because on a busy machine the time of a search
 * depends on how often it waits for the database.
 */
export function listPayments(db: Database, entityId: string, query: PaymentListQuery): Promise<PaymentList> {
  return longReadsOf(db, entityId).snapshot(async (queries) => {
    const reading = readNetworkLevels(queries);
    // Most searches need the levels for their rows only.
    const known: Levels = isStateComputed(query) ? await reading : NO_LEVELS;
    const [networks, page] = await Promise.all([reading, readPage(queries, db, entityId, query, known)]);
    const { rows, total } = page;
    const [counted, payments] = await Promise.all([total(), toPayments(queries, db.dialect, entityId, rows, networks)]);
    return { ...counted, payments };
  });
}

type Levels = ReadonlyMap<number, NetworkLevels>;
const NO_LEVELS: Levels = new Map();

type Total = Pick<PaymentList, 'totalResults' | 'isTotalExact'>;
type Page = { readonly rows: readonly PaymentRow[]; readonly total: () => Total | Promise<Total> };

async function readPage(
  queries: Queries,
  { dialect }: Pick<Database, 'dialect'>,
  entityId: string,
  query: PaymentListQuery,
  networks: Levels,
): Promise<Page> {
  const exactly = (totalResults: number) => () => ({ totalResults, isTotalExact: true });
  const matches = await findMatches(queries, dialect, entityId, query, networks);
  if (matches === null) return { rows: [], total: exactly(0) };
  if (query.page > 1) return readLaterPage(queries, entityId, matches, query);
  const rows = await readMatches<PaymentRow>(queries, matches, query, 0, paymentRowColumns);
  // A first page that is not full has all matches, so that most searches need no count.
  if (rows.length < query.limit) return { rows, total: exactly(rows.length) };
  return { rows, total: () => countMatches(queries, matches) };
}

/** The ids of the page come first, so that the statements read none of the skipped rows. */
async function readLaterPage(
  queries: Queries,
  entityId: string,
  matches: Matches,
  query: PaymentListQuery,
): Promise<Page> {
  const offset = (query.page - 1) * query.limit;
  const total = await countMatches(queries, matches);
  if (offset >= total.totalResults) {
    // A page reads each match that it skips, so a deep page would take as long as a count of everything.
    if (!total.isTotalExact) throw new DomainError('page_too_deep', { limit: MAX_PAYMENTS_COUNTED });
    return { rows: [], total: () => total };
  }
  const found = await readMatches<{ factId: string }>(queries, matches, query, offset, idColumns);
  const source = { table: 'facts', columns: paymentRowColumns, parameters: [entityId] };
  const ids = found.map(({ factId }) => factId);
  return { rows: await readByKeys(queries, source, 'factId', ids), total: () => total };
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

const idColumns = factTable.pick(['factId']);

/**
 * The order by date, as an expression that no index has. The engine then reads the few matches of another index and sorts
 * them.
 */
const SORTED = 'coalesce(created_at_ms, 0)';

async function readMatches<Row extends { readonly factId: string }>(
  queries: Queries,
  { alternatives, parameters: { values }, isNarrow }: Matches,
  { sortDir, limit }: Pick<PaymentListQuery, 'sortDir' | 'limit'>,
  offset: number,
  columns: { readonly list: string; all(queries: Queries, sql: string, params: readonly SqlValue[]): Promise<Row[]> },
): Promise<Row[]> {
  const parameters = new Parameters(...values);
  const most = parameters.bind(offset + limit);
  const order = `order by ${isNarrow ? SORTED : 'created_at_ms'} ${sortDir}, id ${sortDir}`;
  const lists = alternatives.map(
    (where, index) =>
      `select * from (select ${columns.list}, created_at_ms from facts where ${where} ${order} limit ${most}) list${index}`,
  );
  return columns.all(
    queries,
    `select * from (${lists.join(' union all ')}) lists order by created_at_ms ${sortDir}, "factId" ${sortDir}
     limit ${parameters.bind(limit)} offset ${parameters.bind(offset)}`,
    parameters.values,
  );
}
