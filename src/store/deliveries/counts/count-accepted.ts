import { RETRACTION } from '../../../domain/event-kinds.ts';
import { timeOfHex } from '../../../domain/ids.ts';
import { entityKey } from '../../database/sql.ts';
import type { AcceptanceRun } from '../../events/acceptance.ts';
import { countEvents } from './event-counts.ts';

/** Counts the accepted events. A second counter counts the events without deliveries. */
export async function countAccepted({ queries, dialect, changes, order }: AcceptanceRun): Promise<void> {
  const { accepted, supersededBy } = order;
  const events = accepted.map(({ eventNo, event: { entityId, networkId, event } }) => ({
    entity: entityKey(dialect, entityId),
    networkId,
    event,
    createdAtMs: timeOfHex(eventNo),
    events: 1,
  }));
  await countEvents(queries, dialect, events);
  for (const { event, eventNo, deliveries } of accepted) {
    const isPointless = supersededBy.has(eventNo) || event.event === RETRACTION;
    if (deliveries === 0 && !isPointless) changes.undelivered(entityKey(dialect, event.entityId), 1);
  }
}
