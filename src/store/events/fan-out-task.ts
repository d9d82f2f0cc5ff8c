import type { Dialect, Queries } from '../database/database.ts';
import { entityKey, hashKey, readInteger } from '../database/sql.ts';
import { countUnwanted } from './filtering.ts';
import type { Incoming, NewEvent } from './plan-acceptance.ts';

/** The beginning of a fan-out, in the transaction that accepts its event. */

/** How many webhooks an event goes to in all. */
export async function countReceivers(queries: Queries, incoming: NewEvent): Promise<number> {
  const { entityId, networkId, event } = incoming;
  const from = 'from webhooks where entity_id = $1 and network_id = $2 and event = $3';
  const all = await readInteger(queries, 'count(*)', from, [entityId, networkId, event]);
  return all - (await countUnwanted(queries, incoming));
}

/** The rest is a task (`fan-out.ts`), which ends at the last webhook that is registered now. */
export async function startFanOut(
  queries: Queries,
  dialect: Dialect,
  { event, eventNo, receivers, lastUrl }: Incoming,
  nowMs: number,
): Promise<void> {
  const { entityId, networkId, event: kind, firstDelayMs } = event;
  await queries.run(
    `insert into fan_outs (entity_id, event_no, network_id, due_ms, made, entity, event, after_url, order_key,
       last_webhook_no)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, max(w.created_seq) from webhooks w where w.entity_id = $10`,
    [
      entityKey(dialect, entityId),
      dialect.bindUuid(eventNo),
      networkId,
      nowMs + firstDelayMs,
      receivers.length,
      entityId,
      kind,
      lastUrl,
      event.agreementId == null ? null : hashKey(dialect, event.agreementId),
      entityId,
    ],
  );
}
