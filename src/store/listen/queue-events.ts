import { BoundedMap } from '../../bounded-map.ts';
import { deliveryHex } from '../../domain/ids.ts';
import { type CompiledFilter, compileFilter, Payload } from '../../domain/payload-filter/payload-filter.ts';
import type { Dialect, Queries, SqlUuid, SqlValue } from '../database/database.ts';
import { chunks, entityKey, readInteger, valuesList } from '../database/sql.ts';
import type { AcceptanceRun, NewEvent } from '../events/acceptance.ts';
import { eventNumbers } from '../new-id.ts';
import { listenSessionTable } from '../tables.ts';
import type { Wanted } from './sessions.ts';

/** Queues a request for each listen session that wants an event, in the transaction that accepts the event. */

export const MAX_WAITING_REQUESTS = 1_000;

type Matcher = { readonly bytes: number; readonly wants: (event: Listened['event'], payload: Payload) => boolean };

/** Limit on the matchers that are kept by session. A session never changes the events that it wants. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024;
const kept = new BoundedMap<string, Matcher>(MAX_KEPT_BYTES, { weigh: ({ bytes }) => bytes });

const sessionColumns = listenSessionTable.pick(['entity', 'id', 'entityId']);
type Session = { readonly entity: SqlUuid; readonly id: SqlUuid; readonly entityId: string };

/** An event in the form that sessions need. */
type Listened = {
  readonly event: Pick<NewEvent, 'entityId' | 'event' | 'networkId' | 'body'>;
  readonly eventNo: string;
};

/**
 * Queues the events of an acceptance. Runs after all other statements, because the sessions stay locked until the commit. A held
 * event is queued with its release.
 */
export async function queueForSessions({ queries, dialect, isListened, order, group }: AcceptanceRun): Promise<void> {
  if (!isListened) return;
  const incoming = order.accepted.filter(
    ({ event, eventNo }) => event.heldFor == null && !order.supersededBy.has(eventNo),
  );
  await queueEvents(queries, dialect, incoming, group.nowMs);
}

/** Call it after all other statements of the transaction. */
export async function queueEvents(
  queries: Queries,
  dialect: Dialect,
  incoming: readonly Listened[],
  nowMs: number,
): Promise<void> {
  const payloads = incoming.map((one) => ({ one, payload: new Payload(one.event.body) }));
  for (const session of await lockSessions(queries, dialect, incoming)) {
    const matcher = await matcherOf(queries, dialect, session);
    const wanted = payloads.filter(
      ({ one, payload }) => one.event.entityId === session.entityId && matcher.wants(one.event, payload),
    );
    if (wanted.length === 0) continue;
    await insertRequests(
      queries,
      dialect,
      session,
      wanted.map(({ one }) => ({ eventNo: one.eventNo, hex: deliveryHex(eventNumbers.next(nowMs), 1) })),
    );
    await dropOldest(queries, session, nowMs);
  }
}

async function lockSessions(queries: Queries, dialect: Dialect, incoming: readonly Listened[]): Promise<Session[]> {
  const sessions: Session[] = [];
  // Every transaction locks sessions in this order, so that two instances do not wait for each other.
  const entityIds = [...new Set(incoming.map(({ event }) => event.entityId))].sort();
  for (const chunk of chunks(entityIds)) {
    const rows = await sessionColumns.all(
      queries,
      `select ${sessionColumns.list} from listen_sessions where entity_id in ${valuesList(1, chunk.length)} and ended = 0
       order by entity, id ${dialect.lockRow}`,
      chunk.map((entityId) => entityKey(dialect, entityId)),
    );
    sessions.push(...rows);
  }
  return sessions;
}

async function matcherOf(queries: Queries, { hexOf }: Dialect, { entity, id }: Session): Promise<Matcher> {
  const key = `${hexOf(entity)} ${hexOf(id)}`;
  const known = kept.get(key);
  if (known !== undefined) return known;
  const row = await queries.get<{ wanted: string }>(
    'select wanted from listen_sessions where entity_id = $1 and id = $2',
    [entity, id],
  );
  const matcher = toMatcher(row?.wanted ?? '{}');
  kept.set(key, matcher);
  return matcher;
}

/** Parses without a check, because stored filters were checked before. */
function toMatcher(stored: string): Matcher {
  const { events = null, networkIds = null, filter = null } = JSON.parse(stored) as Partial<Wanted>;
  const compiled: CompiledFilter | null = filter === null ? null : compileFilter(filter);
  const wants = ({ event, networkId }: Listened['event'], payload: Payload) =>
    (events === null || events.includes(event)) &&
    (networkIds === null || networkIds.includes(networkId)) &&
    (compiled === null || payload.matches(compiled));
  return { bytes: stored.length, wants };
}

/** Request ids never equal a delivery id, because each begins with a number that no event has. */
async function insertRequests(
  queries: Queries,
  { bindUuid }: Dialect,
  { entity, id }: Session,
  requests: readonly { eventNo: string; hex: string }[],
): Promise<void> {
  for (const chunk of chunks(requests)) {
    const values = chunk.flatMap(({ eventNo, hex }): SqlValue[] => [entity, id, bindUuid(hex), bindUuid(eventNo)]);
    await queries.run(
      `insert into listen_requests (entity_id, session_id, id, event_no) values ${valuesList(chunk.length, 4)}`,
      values,
    );
  }
}

const WAITING = 'from listen_requests where entity_id = $1 and session_id = $2 and done_at_ms is null';

async function dropOldest(queries: Queries, { entity, id }: Session, nowMs: number): Promise<void> {
  const waiting = await readInteger(queries, 'count(*)', WAITING, [entity, id]);
  if (waiting <= MAX_WAITING_REQUESTS) return;
  const dropped = await queries.run(
    `update listen_requests set done_at_ms = $3 where entity_id = $1 and session_id = $2 and done_at_ms is null
       and id in (select id ${WAITING} order by id limit $4)`,
    [entity, id, nowMs, waiting - MAX_WAITING_REQUESTS],
  );
  const sql = 'update listen_sessions set dropped = dropped + $3 where entity_id = $1 and id = $2';
  await queries.run(sql, [entity, id, dropped]);
}
