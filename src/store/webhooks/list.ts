import type { Webhook, WebhookList, WebhookListQuery } from '../../contract/webhooks.ts';
import type { Database, Queries, SqlInteger } from '../database/database.ts';
import { Parameters } from '../database/sql.ts';

/**
 * The list operation. The total comes from the counters, and it decides how the page is read:
 * nothing at all past the end, few matches fetched by (entity, network, event) and sorted, many walked along the index
 * of the sort order, from whichever end is nearer. `docs/decisions.md` has the query plans of each on both engines.
 */

/** So few are always fetched and sorted: it takes about a millisecond. */
const FEW_MATCHES = 1_000;

/** What it costs to fetch one row, in entries of an index walked past: about 1 µs against 0.05 on SQLite. */
const ENTRIES_PER_ROW = 20;

export const WEBHOOK_COLUMNS = 'id, network_id, event, post_url, created_at';

export type WebhookRow = {
  id: string;
  network_id: SqlInteger;
  event: string;
  post_url: string;
  created_at: SqlInteger;
};

export function toWebhook(row: WebhookRow): Webhook {
  return {
    webhookId: row.id,
    networkId: Number(row.network_id),
    event: row.event,
    postUrl: row.post_url,
    dateCreated: Number(row.created_at),
  };
}

export async function listWebhooks(db: Database, entityId: string, query: WebhookListQuery): Promise<WebhookList> {
  return (await readWebhookList(db, entityId, query)).list;
}

/** A list and the revision of the entity that it is of. */
export type DatedList = { revision: number; list: WebhookList };

/** Total, page and revision are of one moment. */
export function readWebhookList(db: Database, entityId: string, query: WebhookListQuery): Promise<DatedList> {
  return db.snapshot(async (queries) => {
    const { revision, total: totalResults } = await countDated(queries, entityId, query);
    if (query.webhookId !== undefined) return { revision, list: await findOne(queries, entityId, query) };
    const offset = (query.page - 1) * query.limit;
    if (offset >= totalResults) return { revision, list: { totalResults, webhooks: [] } };
    const window = { offset, count: Math.min(query.limit, totalResults - offset), totalResults };
    const rows = await readPage(queries, entityId, query, window);
    return { revision, list: { totalResults, webhooks: rows.map(toWebhook) } };
  });
}

type Filter = Pick<WebhookListQuery, 'networkId' | 'event'>;
type Window = { offset: number; count: number; totalResults: number };

/** At most one webhook has the id: the row itself is the total. */
async function findOne(queries: Queries, entityId: string, query: WebhookListQuery): Promise<WebhookList> {
  const parameters = new Parameters();
  const where = `entity_id = ${parameters.bind(entityId)} and id = ${parameters.bind(query.webhookId ?? '')}`;
  const rows = await queries.all<WebhookRow>(
    `select ${WEBHOOK_COLUMNS} from webhooks where ${where}${andFilter(parameters, query)}`,
    parameters.values,
  );
  return { totalResults: rows.length, webhooks: query.page === 1 ? rows.map(toWebhook) : [] };
}

export async function countMatches(queries: Pick<Queries, 'get'>, entityId: string, filter: Filter): Promise<number> {
  return (await countDated(queries, entityId, filter)).total;
}

/** How many match, and the revision of the entity that they are of. */
export async function countDated(
  queries: Pick<Queries, 'get'>,
  entityId: string,
  filter: Filter,
): Promise<{ total: number; revision: number }> {
  const parameters = new Parameters();
  const entity = parameters.bind(entityId);
  const row = await queries.get<{ total: SqlInteger | null; revision: SqlInteger | null }>(
    `select sum(webhooks) as total, (select revision from entities where id = ${entity}) as revision
     from webhook_counts where entity_id = ${entity}${andFilter(parameters, filter)}`,
    parameters.values,
  );
  return { total: Number(row?.total ?? 0), revision: Number(row?.revision ?? 0) };
}

function andFilter(parameters: Parameters, filter: Filter): string {
  const network = filter.networkId === undefined ? '' : ` and network_id = ${parameters.bind(filter.networkId)}`;
  const event = filter.event === undefined ? '' : ` and event = ${parameters.bind(filter.event)}`;
  return network + event;
}

async function readPage(
  queries: Queries,
  entityId: string,
  query: WebhookListQuery,
  window: Window,
): Promise<WebhookRow[]> {
  const filtered = query.networkId !== undefined || query.event !== undefined;
  if (filtered && (await areFew(queries, entityId, window))) return fetchAndSort(queries, entityId, query, window);
  return walk(queries, entityId, query, window);
}

/** Whether fetching all matches costs less than walking past the entries that lie before the page. */
async function areFew(queries: Queries, entityId: string, { offset, count, totalResults }: Window): Promise<boolean> {
  if (totalResults <= FEW_MATCHES) return true;
  const matchesBefore = Math.min(offset, totalResults - offset - count) + count;
  const entriesPerMatch = (await countMatches(queries, entityId, {})) / totalResults;
  return totalResults * ENTRIES_PER_ROW < matchesBefore * entriesPerMatch;
}

const KEYS = { dateCreated: ['created_seq'], postUrl: ['post_url', 'id'] } as const;

function fetchAndSort(
  queries: Queries,
  entityId: string,
  query: WebhookListQuery,
  window: Window,
): Promise<WebhookRow[]> {
  const parameters = new Parameters();
  const entity = parameters.bind(entityId);
  const filter = andFilter(parameters, query);
  // Without a network the index (entity, network, event) serves only when the networks are named.
  const networks =
    query.networkId === undefined
      ? ` and network_id in (select network_id from webhook_counts where entity_id = ${entity}${filter})`
      : '';
  const order = KEYS[query.sortBy].map((key) => `${key} ${query.sortDir}`).join(', ');
  return queries.all<WebhookRow>(
    // Apart from the sort by a limit that it never reaches: otherwise SQLite takes the index of the sort order and
    // reads every row of the entity.
    `select ${WEBHOOK_COLUMNS} from (
       select ${WEBHOOK_COLUMNS}, created_seq from webhooks where entity_id = ${entity}${networks}${filter}
       limit ${parameters.bind(window.totalResults)}) matches
     order by ${order} limit ${parameters.bind(window.count)} offset ${parameters.bind(window.offset)}`,
    parameters.values,
  );
}

/** Up to here the rows that a page skips cost less than reading its keys apart from its rows. */
const SHALLOW = 200;

/** Along the index of the sort order, from whichever end is nearer. */
async function walk(
  queries: Queries,
  entityId: string,
  query: WebhookListQuery,
  { offset, count, totalResults }: Window,
): Promise<WebhookRow[]> {
  const behind = totalResults - offset - count;
  const backwards = behind < offset;
  const direction = (query.sortDir === 'asc') !== backwards ? 'asc' : 'desc';
  const skip = backwards ? behind : offset;
  const read = skip <= SHALLOW ? walkRows : walkKeys;
  const rows = await read(queries, entityId, query, { direction, skip, count });
  return backwards ? rows.reverse() : rows;
}

type Walk = { direction: 'asc' | 'desc'; skip: number; count: number };

function walkRows(
  queries: Queries,
  entityId: string,
  query: WebhookListQuery,
  { direction, skip, count }: Walk,
): Promise<WebhookRow[]> {
  const parameters = new Parameters();
  const where = `entity_id = ${parameters.bind(entityId)}${andFilter(parameters, query)}`;
  const order = KEYS[query.sortBy].map((key) => `${key} ${direction}`).join(', ');
  return queries.all<WebhookRow>(
    `select ${WEBHOOK_COLUMNS} from webhooks where ${where}
     order by ${order} limit ${parameters.bind(count)} offset ${parameters.bind(skip)}`,
    parameters.values,
  );
}

/**
 * Keys first, along the index alone, and then the rows of those keys: a deep page reads no row that it skips. In two
 * statements, because a planner that may join them will: SQLite read all rows, and PostgreSQL with statistics from
 * before the entity grew ran the first once for each row, 0.8 s for a page of 3,000.
 */
async function walkKeys(
  queries: Queries,
  entityId: string,
  query: WebhookListQuery,
  { direction, skip, count }: Walk,
): Promise<WebhookRow[]> {
  const key = query.sortBy === 'dateCreated' ? 'created_seq' : 'id';
  const parameters = new Parameters();
  const where = `entity_id = ${parameters.bind(entityId)}${andFilter(parameters, query)}`;
  const found = await queries.all<{ key: SqlInteger }>(
    `select ${key} as key from webhooks where ${where}
     order by ${KEYS[query.sortBy].map((column) => `${column} ${direction}`).join(', ')}
     limit ${parameters.bind(count)} offset ${parameters.bind(skip)}`,
    parameters.values,
  );
  const keys = found.map((row) => row.key);
  const rows = await queries.all<WebhookRow & { key: SqlInteger }>(
    `select ${WEBHOOK_COLUMNS}, ${key} as key from webhooks
     where entity_id = $1 and ${key} in (${keys.map((_, index) => `$${index + 2}`).join(', ')})`,
    [entityId, ...keys],
  );
  const byKey = new Map(rows.map((row) => [row.key, row]));
  return keys.flatMap((each) => byKey.get(each) ?? []);
}
