import { DomainError } from '../../domain/errors.ts';
import { hexOfId } from '../../domain/ids.ts';
import type { Dialect, Queries, SqlInteger, SqlUuid } from '../database/database.ts';
import { byEntity, Columns, chunks, entityKey, eventIdKey, nullable, text, uuid, valuesList } from '../database/sql.ts';
import type { Acceptance, NewEvent } from './acceptance.ts';

/** Finds accepted events by their ids, which senders chose or Paybell made from the events' numbers. */

/** Returns the first result again if the event has the same bytes. Another body under the same id is an error. */
export async function repeatAcceptance(
  queries: Queries,
  dialect: Dialect,
  event: NewEvent,
): Promise<Acceptance | DomainError> {
  const eventId = event.eventId ?? '';
  const no = await findEventNo(queries, dialect, event.entityId, eventId);
  const stored =
    no === null
      ? undefined
      : await queries.get<{ body: string; deliveries: SqlInteger; superseded_by: SqlUuid | null }>(
          'select body, deliveries, superseded_by from events where entity_id = $1 and no = $2',
          [entityKey(dialect, event.entityId), dialect.bindUuid(no)],
        );
  // Retention removed the event after the insertion had found its id. The event counts as never accepted, and the next request
  // will succeed.
  if (stored === undefined) return new DomainError('event_just_removed', { eventId });
  if (stored.body !== event.body) return new DomainError('event_conflict', { eventId });
  const { deliveries, superseded_by: by } = stored;
  const supersededBy = by === null ? null : await nameOfEvent(queries, dialect, event.entityId, dialect.hexOf(by));
  return { eventId, deliveries: Number(deliveries), supersededBy, repeated: true };
}

/** The number of the event with this public id, or null if there is none. */
export async function findEventNo(
  queries: Pick<Queries, 'get'>,
  dialect: Dialect,
  entityId: string,
  eventId: string,
): Promise<string | null> {
  const row = await queries.get<{ no: SqlUuid }>('select no from event_ids where entity_id = $1 and hash = $2', [
    entityKey(dialect, entityId),
    eventIdKey(dialect, eventId),
  ]);
  if (row !== undefined) return dialect.hexOf(row.no);
  return (await isNameOfNumber(queries, dialect, entityId, eventId)) ? hexOfId('evt', eventId) : null;
}

/** Whether Paybell has made this id for another event before. */
export async function isNameOfNumber(
  queries: Pick<Queries, 'get'>,
  dialect: Dialect,
  entityId: string,
  eventId: string,
): Promise<boolean> {
  const hex = hexOfId('evt', eventId);
  if (hex === null) return false;
  const row = await queries.get('select 1 as found from events where entity_id = $1 and no = $2 and event_id is null', [
    entityKey(dialect, entityId),
    dialect.bindUuid(hex),
  ]);
  return row !== undefined;
}

/** The public id of an event. */
export async function nameOfEvent(
  queries: Pick<Queries, 'get'>,
  dialect: Dialect,
  entityId: string,
  no: string,
): Promise<string> {
  const row = await queries.get<{ event_id: string | null }>(
    'select event_id from events where entity_id = $1 and no = $2',
    [entityKey(dialect, entityId), dialect.bindUuid(no)],
  );
  return row?.event_id ?? `evt_${no}`;
}

const nameColumns = new Columns({ no: uuid('e.no'), eventId: nullable(text('e.event_id')) });

/** The public ids of events, by their numbers. */
export async function namesOfEvents(
  queries: Pick<Queries, 'all'>,
  dialect: Dialect,
  events: readonly { readonly entityId: string; readonly no: string }[],
): Promise<ReadonlyMap<string, string>> {
  const names = new Map(events.map(({ no }) => [no, `evt_${no}`]));
  for (const some of byEntity(dialect, events)) {
    for (const chunk of chunks(some)) {
      const rows = await nameColumns.all(
        queries,
        `with wanted (entity_id, no) as (values ${valuesList(chunk.length, 2, 0, [dialect.uuid, dialect.uuid])})
         select ${nameColumns.list} from wanted w
         ${dialect.lookUp('cross join', 'events', 'e', { entity_id: 'w.entity_id', no: 'w.no' })}`,
        chunk.flatMap(({ entityId, no }) => [entityKey(dialect, entityId), dialect.bindUuid(no)]),
      );
      for (const { no, eventId } of rows) if (eventId !== null) names.set(dialect.hexOf(no), eventId);
    }
  }
  return names;
}
