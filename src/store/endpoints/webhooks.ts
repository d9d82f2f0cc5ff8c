import type { EndpointWebhookList, EndpointWebhookQuery } from '../../contract/endpoints/endpoint-webhooks.ts';
import type { SuspendReason } from '../../domain/attempt.ts';
import { endpointNo } from '../../domain/ids.ts';
import { type Database, longReadsOf } from '../database/database.ts';
import { Columns, entityKey, integer, nullable, readInteger, seconds, text } from '../database/sql.ts';
import { readPage } from '../list/page.ts';

const webhookColumns = new Columns({
  webhookId: text('id'),
  networkId: integer('network_id'),
  event: text('event'),
  reason: nullable(text<SuspendReason>('suspended_reason')),
  waiting: integer('waiting'),
  dateFailingSince: nullable(seconds('failing_since_ms')),
  dateCreated: integer('created_at'),
});

/** A webhook has a second head if events of it were retracted, so its heads are summed. `$1` is the key of the entity, `$2` its id. */
const OF_ENDPOINT = `(select w.id, w.network_id, w.event, w.suspended_reason, w.created_at, w.created_seq,
    (select min(h.failing_since_ms) from queue_heads h where h.entity_id = $1 and h.webhook_id = w.id) as failing_since_ms,
    coalesce((select sum(c.waiting) from queue_heads h join queue_counts c
      on c.entity_id = h.entity_id and c.webhook_no = h.webhook_no
      where h.entity_id = $1 and h.webhook_id = w.id), 0) as waiting
  from webhooks w where w.entity_id = $2 and w.post_url =
    (select post_url from endpoints where entity_id = $1 and no = $3 and removed_ms = 0)) webhook`;

/** Null for an unknown id, for the id of another entity, and for an endpoint whose last webhook was removed. */
export async function listEndpointWebhooks(
  db: Database,
  entityId: string,
  id: string,
  query: EndpointWebhookQuery,
): Promise<EndpointWebhookList | null> {
  const no = endpointNo(id);
  const entity = entityKey(db.dialect, entityId);
  const from = 'from endpoints where entity_id = $1 and no = $2 and removed_ms = 0';
  if (no === null || (await readInteger(db, 'count(*)', from, [entity, no])) === 0) return null;
  const source = {
    table: OF_ENDPOINT,
    columns: webhookColumns,
    where: '1 = 1',
    order: ['created_seq'],
    parameters: [entity, entityId, no],
  };
  const { totalResults, rows } = await readPage(longReadsOf(db, entityId), source, query);
  const webhooks = rows.map(({ reason, ...webhook }) => ({
    ...webhook,
    state: reason === null ? ('active' as const) : ('suspended' as const),
    reason,
  }));
  return { totalResults, webhooks };
}
