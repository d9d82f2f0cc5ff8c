import { hexOfId, timeOfHex } from '../../domain/ids.ts';
import type { Dialect, SqlUuid, SqlValue } from '../database/database.ts';
import { awaitedChunks, entityKey, eventIdKey, powersOfTwo, textByRows, valuesList } from '../database/sql.ts';
import type { AcceptanceRun, Incoming } from './acceptance.ts';
import { isNameOfNumber } from './event-ids.ts';
import { keysOfEvent } from './subjects.ts';

/** The rows of accepted events. */

const insertEventIdsText = textByRows(
  (rows) => `insert into event_ids (entity_id, hash, no) values ${valuesList(rows, 3)}
    on conflict (entity_id, hash) do nothing returning no`,
);

const insertEventsText = textByRows(
  (
    rows,
  ) => `insert into events (entity_id, no, network_id, created_at_ms, deliveries, event, event_id, body, transfer_key,
      agreement_key, trace)
    values ${valuesList(rows, 11)}`,
);

/** If two events of a group have one id, only the first is new. */
export async function insertEvents(run: AcceptanceRun): Promise<void> {
  const fresh = await insertNames(run);
  run.added = fresh.size === run.incoming.length ? run.incoming : run.incoming.filter((one) => fresh.has(one));
  for (const chunk of powersOfTwo(run.added)) {
    const values: SqlValue[] = [];
    for (const one of chunk) addValues(values, run.dialect, one);
    await run.queries.send(insertEventsText(chunk.length), values);
  }
}

/** Returns the new events: events without an id from their sender, or with an id that no other event has. */
async function insertNames({ queries, dialect, incoming }: AcceptanceRun): Promise<ReadonlySet<Incoming>> {
  const byNo = new Map<string, Incoming>();
  const possible = incoming.filter(({ rejected }) => rejected === undefined);
  const fresh = new Set(possible.filter(({ event }) => event.eventId === null));
  const named: { one: Incoming; hash: SqlUuid; order: string }[] = [];
  for (const one of possible) {
    const { eventId, entityId } = one.event;
    if (eventId === null) continue;
    const isLikeNumber = hexOfId('evt', eventId) !== null;
    if (isLikeNumber && (await isNameOfNumber(queries, dialect, entityId, eventId))) continue;
    byNo.set(one.eventNo, one);
    named.push({ one, hash: eventIdKey(dialect, eventId), order: `${entityId} ${eventId}` });
  }
  // Ids are inserted in one order. Otherwise two instances that get the same events could wait for each other.
  named.sort((a, b) => (a.order < b.order ? -1 : 1));
  for (const chunk of awaitedChunks(dialect, named)) {
    const values = chunk.flatMap(({ one, hash }): SqlValue[] => [
      entityKey(dialect, one.event.entityId),
      hash,
      dialect.bindUuid(one.eventNo),
    ]);
    for (const { no } of await queries.all<{ no: SqlUuid }>(insertEventIdsText(chunk.length), values)) {
      const one = byNo.get(dialect.hexOf(no));
      if (one !== undefined) fresh.add(one);
    }
  }
  return fresh;
}

function addValues(values: SqlValue[], dialect: Dialect, { event, eventNo, deliveries }: Incoming): void {
  const createdAtMs = timeOfHex(eventNo);
  const { transfer, agreement } = keysOfEvent(dialect, event, createdAtMs);
  values.push(
    entityKey(dialect, event.entityId),
    dialect.bindUuid(eventNo),
    event.networkId,
    createdAtMs,
    deliveries,
    event.event,
    event.eventId,
    event.body,
    transfer,
    agreement,
    event.trace ?? null,
  );
}
