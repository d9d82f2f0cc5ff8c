import type { Dialect, Queries } from '../database/database.ts';
import { entityKey, readInteger } from '../database/sql.ts';
import type { Incoming, NewEvent } from './plan-acceptance.ts';

/** The beginning of a fan-out, in the transaction that accepts its event. */

/** How many webhooks an event goes to in all. */
export function countReceivers(queries: Queries, { entityId, networkId, event }: NewEvent): Promise<number> {
  const from = 'from webhooks where entity_id = $1 and network_id = $2 and event = $3';
  return readInteger(queries, 'count(*)', from, [entityId, networkId, event]);
}

/** The rest is a task (`fan-out.ts`), which ends at the last webhook that is registered now. */
export async function startFanOut(
  queries: Queries,
  dialect: Dialect,
  { event, eventNo, receivers }: Incoming,
  nowMs: number,
): Promise<void> {
  const { entityId, networkId, event: kind, firstDelayMs } = event;
  await queries.run(
    `insert into fan_outs (entity_id, event_no, network_id, due_ms, made, entity, event, after_url, last_webhook_no)
     select $1, $2, $3, $4, $5, $6, $7, $8, max(w.created_seq) from webhooks w where w.entity_id = $9`,
    [
      entityKey(dialect, entityId),
      dialect.bindUuid(eventNo),
      networkId,
      nowMs + firstDelayMs,
      receivers.length,
      entityId,
      kind,
      receivers.at(-1)?.postUrl ?? '',
      entityId,
    ],
  );
}
