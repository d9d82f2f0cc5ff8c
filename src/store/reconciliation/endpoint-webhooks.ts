import { endpointNo } from '../../domain/ids.ts';
import type { Database, Queries } from '../database/database.ts';
import { Columns, entityKey, integer, nullable, type RowOf, text } from '../database/sql.ts';
import { wantedBy } from '../events/filtering.ts';

/** The current webhooks of one endpoint. An endpoint has at most one webhook for each network and event kind. */

const webhookColumns = new Columns({
  webhookNo: integer('w.created_seq'),
  networkId: integer('w.network_id'),
  event: text('w.event'),
  finality: nullable(text('w.finality')),
  filterHash: nullable(text('w.filter_hash')),
});
export type EndpointWebhook = RowOf<typeof webhookColumns>;

export type EndpointWebhooks = {
  readonly of: (networkId: number, event: string) => EndpointWebhook | undefined;
};

/** Empty after the last webhook of the endpoint was removed. */
export async function readEndpointWebhooks(
  queries: Queries,
  { dialect }: Database,
  entityId: string,
  no: number,
): Promise<EndpointWebhooks> {
  const rows = await webhookColumns.all(
    queries,
    `select ${webhookColumns.list} from endpoints e join webhooks w on w.entity_id = $2 and w.post_url = e.post_url
     where e.entity_id = $1 and e.no = $3 and e.removed_ms = 0`,
    [entityKey(dialect, entityId), entityId, no],
  );
  const keyOf = (networkId: number, event: string) => `${networkId} ${event}`;
  const byCell = new Map(rows.map((row) => [keyOf(row.networkId, row.event), row]));
  return { of: (networkId, event) => byCell.get(keyOf(networkId, event)) };
}

/** Also finds an endpoint whose last webhook was removed: retention keeps its deliveries. Null if there is none. */
export async function findEndpointNo(db: Database, entityId: string, id: string): Promise<number | null> {
  const no = endpointNo(id);
  if (no === null) return null;
  const sql = 'select 1 from endpoints where entity_id = $1 and no = $2';
  return (await db.get(sql, [entityKey(db.dialect, entityId), no])) === undefined ? null : no;
}

type Event = { readonly networkId: number; readonly event: string; readonly body: string };

/** The events that a webhook of the endpoint wants, judged by its filter. */
export async function findWanted<Some extends Event>(
  queries: Queries,
  entityId: string,
  webhooks: EndpointWebhooks,
  events: readonly Some[],
): Promise<Some[]> {
  const wanted: Some[] = [];
  for (const one of events) {
    const webhook = webhooks.of(one.networkId, one.event);
    if (webhook === undefined) continue;
    const { event, body } = one;
    const found = await wantedBy(queries, { entityId, event, body }, [webhook]);
    if (found.length > 0) wanted.push(one);
  }
  return wanted;
}
