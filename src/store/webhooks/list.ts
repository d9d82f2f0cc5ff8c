import { WEBHOOK_FIELDS, type Webhook, type WebhookList, type WebhookListQuery } from '../../contract/webhooks.ts';
import { type Database, type Dialect, longReadsOf, type Queries } from '../database/database.ts';
import { Columns, integer, nullable, Parameters, type RowOf } from '../database/sql.ts';
import { REVISION, webhookCountTable, webhookTable } from '../tables.ts';

/**
 * The list operation. The total comes from the counters, so that nothing is read past the end. A page is read along the index of
 * its filter and sort order, from the nearer end. `npm run query-plans` writes the plan of each on both engines.
 */

/** About 5 ms on SQLite. */
const ENTRIES_OF_SHORT_READ = 100_000;

/** The fields of a webhook in the API. */
export const SHOWN_WEBHOOK = webhookTable.pick(WEBHOOK_FIELDS);

/** The same with its place in the order of creation, which the API does not show. */
export const SEQUENCED_WEBHOOK = webhookTable.pick([...WEBHOOK_FIELDS, 'createdSeq']);

export function withoutSequence({ createdSeq: _, ...webhook }: RowOf<typeof SEQUENCED_WEBHOOK>): Webhook {
  return webhook;
}

export async function listWebhooks(db: Database, entityId: string, query: WebhookListQuery): Promise<WebhookList> {
  return (await readWebhookList(db, entityId, query)).list;
}

/** A list and the revision of the entity at which it was read. */
export type ListAtRevision = { revision: number; list: WebhookList };

/** Total, page and revision are read in one snapshot. A page that takes long to reach is a long read. */
export async function readWebhookList(
  db: Database,
  entityId: string,
  query: WebhookListQuery,
): Promise<ListAtRevision> {
  const plan = (queries: Queries) => planList({ queries, dialect: db.dialect, entityId, query });
  const short = await db.snapshot(async (queries) => {
    const { entries, read } = await plan(queries);
    return entries > ENTRIES_OF_SHORT_READ ? null : read();
  }, entityId);
  return short ?? longReadsOf(db, entityId).snapshot(async (queries) => (await plan(queries)).read());
}

/** The index entries that have to be walked past, and how to read the list. */
type ListPlan = { entries: number; read: () => Promise<ListAtRevision> };

/** A list query with its connection. */
type Reading = {
  readonly queries: Queries;
  readonly dialect: Dialect;
  readonly entityId: string;
  readonly query: WebhookListQuery;
};

async function planList(reading: Reading): Promise<ListPlan> {
  const { queries, entityId, query } = reading;
  const { revision, total: totalResults } = await countAtRevision(queries, entityId, query);
  const { webhookId, page, limit } = query;
  if (webhookId !== undefined)
    return { entries: 1, read: async () => ({ revision, list: await findOne(queries, entityId, query) }) };
  const offset = (page - 1) * limit;
  if (offset >= totalResults)
    return { entries: 0, read: async () => ({ revision, list: { totalResults, webhooks: [] } }) };
  const window = { offset, count: Math.min(limit, totalResults - offset), totalResults };
  return {
    entries: Math.min(offset, totalResults - offset - window.count) + window.count,
    read: async () => ({ revision, list: { totalResults, webhooks: await walk(reading, window) } }),
  };
}

type Filter = Pick<WebhookListQuery, 'networkId' | 'event'>;
type Window = { offset: number; count: number; totalResults: number };

/** At most one webhook has the id, so the row itself is the total. */
async function findOne(
  queries: Queries,
  entityId: string,
  { webhookId, networkId, event, page }: WebhookListQuery,
): Promise<WebhookList> {
  const parameters = new Parameters();
  const where = webhookTable.where(parameters, { entityId, webhookId, networkId, event });
  const sql = `select ${SHOWN_WEBHOOK.list} from webhooks where ${where}`;
  const webhooks = await SHOWN_WEBHOOK.all(queries, sql, parameters.values);
  return { totalResults: webhooks.length, webhooks: page === 1 ? webhooks : [] };
}

export async function countMatches(queries: Pick<Queries, 'get'>, entityId: string, filter: Filter): Promise<number> {
  return (await countAtRevision(queries, entityId, filter)).total;
}

const COUNT = new Columns({ total: nullable(integer('sum(webhooks)')), revision: nullable(integer()) });

/** How many webhooks match, and the revision of the entity at that moment. */
export async function countAtRevision(
  queries: Pick<Queries, 'get'>,
  entityId: string,
  { networkId, event }: Filter,
): Promise<{ total: number; revision: number }> {
  const parameters = new Parameters();
  const where = webhookCountTable.where(parameters, { entityId, networkId, event });
  const row = await COUNT.get(
    queries,
    `select ${COUNT.list}, (select ${REVISION} from entities where id = $1) as revision
     from webhook_counts where ${where}`,
    parameters.values,
  );
  return { total: row?.total ?? 0, revision: row?.revision ?? 0 };
}

/** The columns of each sort order, the one that identifies a row along its indexes, and the index of each filter. */
const ORDERS = {
  dateCreated: {
    columns: ['created_seq'],
    key: 'createdSeq',
    indexes: {
      none: 'webhooks_by_creation',
      network: 'webhooks_by_network_creation',
      event: 'webhooks_by_event_creation',
    },
  },
  postUrl: {
    columns: ['post_url', 'id'],
    key: 'webhookId',
    indexes: { none: 'webhooks_by_url', network: 'webhooks_by_network_url', event: 'webhooks_by_event_url' },
  },
} as const;

/** With both, the network is the better one to go by: it has few webhooks of other events. */
function indexOf({ networkId, event, sortBy }: WebhookListQuery): string {
  const { none, network, event: ofEvent } = ORDERS[sortBy].indexes;
  return networkId !== undefined ? network : event !== undefined ? ofEvent : none;
}

type Direction = WebhookListQuery['sortDir'];

function orderBy(sortBy: WebhookListQuery['sortBy'], direction: Direction): string {
  return ORDERS[sortBy].columns.map((column) => `${column} ${direction}`).join(', ');
}

/** Up to here, reading the rows that a page skips costs less than reading keys and rows in two statements. */
const SHALLOW = 200;

async function walk(reading: Reading, { offset, count, totalResults }: Window): Promise<Webhook[]> {
  const behind = totalResults - offset - count;
  const backwards = behind < offset;
  const direction = (reading.query.sortDir === 'asc') !== backwards ? 'asc' : 'desc';
  const skip = backwards ? behind : offset;
  const read = skip <= SHALLOW ? walkRows : walkKeys;
  const webhooks = await read(reading, { direction, skip, count });
  return backwards ? webhooks.reverse() : webhooks;
}

type Walk = { direction: Direction; skip: number; count: number };

function walkRows(
  { queries, dialect, entityId, query }: Reading,
  { direction, skip, count }: Walk,
): Promise<Webhook[]> {
  const { networkId, event, sortBy } = query;
  const parameters = new Parameters();
  const where = webhookTable.where(parameters, { entityId, networkId, event });
  return SHOWN_WEBHOOK.all(
    queries,
    `select ${SHOWN_WEBHOOK.list} from webhooks ${dialect.byIndex(indexOf(query))} where ${where}
     order by ${orderBy(sortBy, direction)} limit ${parameters.bind(count)} offset ${parameters.bind(skip)}`,
    parameters.values,
  );
}

/**
 * Reads keys along the index alone, and then the rows of those keys, so that a deep page reads no row that it skips.
 * The keys and the rows are two statements. In one statement, SQLite read all rows. PostgreSQL ran the part for the keys once
 * for each row if its statistics were old: 0.8 s for a page of 3,000.
 */
async function walkKeys(
  { queries, dialect, entityId, query }: Reading,
  { direction, skip, count }: Walk,
): Promise<Webhook[]> {
  const { networkId, event, sortBy } = query;
  const { key } = ORDERS[sortBy];
  const keyColumn = webhookTable.pick([key]);
  const along = new Parameters();
  const where = webhookTable.where(along, { entityId, networkId, event });
  const found = await keyColumn.all(
    queries,
    `select ${keyColumn.list} from webhooks ${dialect.byIndex(indexOf(query))} where ${where}
     order by ${orderBy(sortBy, direction)} limit ${along.bind(count)} offset ${along.bind(skip)}`,
    along.values,
  );
  const keys = found.map((row) => row[key]);
  const parameters = new Parameters(entityId);
  const rows = await SEQUENCED_WEBHOOK.all(
    queries,
    `select ${SEQUENCED_WEBHOOK.list} from webhooks
     where entity_id = $1 and ${webhookTable.columnOf(key)} in ${parameters.list(keys)}`,
    parameters.values,
  );
  const byKey = new Map<string | number, RowOf<typeof SEQUENCED_WEBHOOK>>(rows.map((row) => [row[key], row]));
  return keys.flatMap((each) => byKey.get(each) ?? []).map(withoutSequence);
}
