import { WEBHOOK_FIELDS } from '../../contract/webhooks/fields.ts';
import type { Webhook, WebhookList, WebhookListQuery } from '../../contract/webhooks.ts';
import { type Database, type Dialect, longReadsOf, type Queries } from '../database/database.ts';
import { Columns, integer, nullable, Parameters, type RowOf } from '../database/sql.ts';
import { readWindow, windowOf } from '../list/page.ts';
import { webhookCountTable, webhookTable } from '../tables.ts';
import { REVISION } from '../tenants/tables.ts';

/**
 * The list operation. The total comes from the counters, so that nothing is read past the end. A page is read along the index of
 * its filter and sort order, from the nearer end. `npm run query-plans` writes the plan of each list on both engines.
 */

/** A read of this many index entries takes about 5 ms on SQLite. */
const ENTRIES_OF_SHORT_READ = 100_000;

/** The fields of a webhook in the API. */
export const SHOWN_WEBHOOK = webhookTable.pick(WEBHOOK_FIELDS);

/** The fields in the API and the place in the order of creation, which the API does not show. */
export const SEQUENCED_WEBHOOK = webhookTable.pick([...WEBHOOK_FIELDS, 'createdSeq']);

export function withoutSequence({ createdSeq: _, ...webhook }: RowOf<typeof SEQUENCED_WEBHOOK>): Webhook {
  return webhook;
}

export async function listWebhooks(db: Database, entityId: string, query: WebhookListQuery): Promise<WebhookList> {
  return (await readWebhookList(db, entityId, query)).list;
}

/** A list and the revision of the entity at which it was read. */
export type ListAtRevision = { revision: number; list: WebhookList };

/** Reads total, page and revision in one snapshot. A page that takes long to reach is a long read. */
export async function readWebhookList(
  db: Database,
  entityId: string,
  query: WebhookListQuery,
): Promise<ListAtRevision> {
  const plan = (queries: Queries) => planList(queries, db.dialect, entityId, query);
  const short = await db.snapshot(async (queries) => {
    const { entries, read } = await plan(queries);
    return entries > ENTRIES_OF_SHORT_READ ? null : read();
  }, entityId);
  return short ?? longReadsOf(db, entityId).snapshot(async (queries) => (await plan(queries)).read());
}

/** The index entries that must be walked past, and how to read the list. */
type ListPlan = { entries: number; read: () => Promise<ListAtRevision> };

async function planList(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  query: WebhookListQuery,
): Promise<ListPlan> {
  const { webhookId, networkId, event, page, sortBy } = query;
  const { revision, total: totalResults } = await countAtRevision(queries, entityId, query);
  const parameters = new Parameters();
  const where = webhookTable.where(parameters, { entityId, webhookId, networkId, event });
  if (webhookId !== undefined) {
    // At most one webhook has the id, so the row itself is the total.
    const read = async () => {
      const sql = `select ${SHOWN_WEBHOOK.list} from webhooks where ${where}`;
      const webhooks = await SHOWN_WEBHOOK.all(queries, sql, parameters.values);
      return { revision, list: { totalResults: webhooks.length, webhooks: page === 1 ? webhooks : [] } };
    };
    return { entries: 1, read };
  }
  const window = windowOf(query, totalResults);
  if (window === null) return { entries: 0, read: async () => ({ revision, list: { totalResults, webhooks: [] } }) };
  const { order, key } = ORDERS[sortBy];
  const source = {
    table: 'webhooks',
    index: dialect.byIndex(indexOf(query)),
    where,
    order,
    parameters: parameters.values,
  };
  const read = async () => {
    const webhooks =
      window.skip <= SHALLOW
        ? await readWindow(queries, { ...source, columns: SHOWN_WEBHOOK }, window)
        : (
            await readWindow(queries, { ...source, columns: SEQUENCED_WEBHOOK, keys: { name: key, from: 0 } }, window)
          ).map(withoutSequence);
    return { revision, list: { totalResults, webhooks } };
  };
  return { entries: window.skip + window.count, read };
}

type Filter = Pick<WebhookListQuery, 'networkId' | 'event'>;

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

/** The columns of each sort order, the column that identifies a row in its indexes, and the index of each filter. */
const ORDERS = {
  dateCreated: {
    order: ['created_seq'],
    key: 'createdSeq',
    indexes: {
      none: 'webhooks_by_creation',
      network: 'webhooks_by_network_creation',
      event: 'webhooks_by_event_creation',
    },
  },
  postUrl: {
    order: ['post_url', 'id'],
    key: 'webhookId',
    indexes: { none: 'webhooks_by_url', network: 'webhooks_by_network_url', event: 'webhooks_by_event_url' },
  },
} as const;

/** Up to this many skipped rows, reading them costs less than reading keys and rows in two statements. */
const SHALLOW = 200;

/**
 * The index of the filter. With a network and an event, it is the index of the network, because a network has few webhooks of
 * other events.
 */
function indexOf({ networkId, event, sortBy }: WebhookListQuery): string {
  const { none, network, event: ofEvent } = ORDERS[sortBy].indexes;
  return networkId !== undefined ? network : event !== undefined ? ofEvent : none;
}
