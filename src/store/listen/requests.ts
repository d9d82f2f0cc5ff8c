import { hexOfId } from '../../domain/ids.ts';
import type { Database, Queries, SqlInteger, SqlUuid } from '../database/database.ts';
import { randomBytes } from '../new-id.ts';
import { eventTable, listenRequestTable } from '../tables.ts';
import { type SessionKey, sessionExists } from './sessions.ts';

/** The requests of a listen session. A reader gets a request under a token, and ends the request with a report of its result. */

/** Longer than a program may take for a response. If a reader has not reported by then, it gets the request again. */
export const LEASE_MS = 120_000;

/** A request on its way to a reader. */
export type HandedRequest = {
  readonly deliveryId: string;
  readonly token: string;
  /** How often a reader got the request, including this time. */
  readonly attempt: number;
  readonly eventId: string;
  readonly body: string;
};

/** Requests of the session `$1, $2` that the reader `$3` may take at the time `$4`. */
const AVAILABLE = `from listen_requests where entity_id = $1 and session_id = $2 and done_at_ms is null
  and (reader is null or reader <> $3 or lease_ms <= $4)`;

/** A cheap check that takes no request. */
export async function hasRequests(db: Database, { entity, id }: SessionKey, reader: SqlUuid): Promise<boolean> {
  const available = AVAILABLE.replace('$4', db.dialect.nowMs);
  return (await db.get(`select 1 as found ${available} limit 1`, [entity, id, reader])) !== undefined;
}

const availableColumns = listenRequestTable.pick(['id', 'eventNo', 'attempt']);
const eventColumns = eventTable.pick(['eventId', 'body']);

/** Takes the oldest requests that the reader does not have. Null if the session has a newer reader. */
export function takeRequests(
  db: Database,
  { entity, id }: SessionKey,
  reader: SqlUuid,
  limit: number,
): Promise<HandedRequest[] | null> {
  const { dialect } = db;
  return db.transaction(async (queries) => {
    const session = await queries.get<{ seen_ms: SqlInteger }>(
      `update listen_sessions set seen_ms = ${dialect.nowMs}
       where entity_id = $1 and id = $2 and reader = $3 and ended = 0 returning seen_ms`,
      [entity, id, reader],
    );
    if (session === undefined) return null;
    const nowMs = Number(session.seen_ms);
    const rows = await availableColumns.all(
      queries,
      `select ${availableColumns.list} ${AVAILABLE} order by id limit $5`,
      [entity, id, reader, nowMs, limit],
    );
    const taken: HandedRequest[] = [];
    for (const row of rows) {
      const event = await eventColumns.get(
        queries,
        `select ${eventColumns.list} from events where entity_id = $1 and no = $2`,
        [entity, row.eventNo],
      );
      if (event === undefined) {
        await dropRequest(queries, { entity, id }, row.id, nowMs);
        continue;
      }
      const token = randomBytes(16).toHex();
      await queries.run(
        `update listen_requests set reader = $4, token = $5, lease_ms = $6, attempt = attempt + 1
         where entity_id = $1 and session_id = $2 and id = $3`,
        [entity, id, row.id, reader, dialect.bindUuid(token), nowMs + LEASE_MS],
      );
      const { eventId, body } = event;
      taken.push({
        deliveryId: `dlv_${dialect.hexOf(row.id)}`,
        token,
        attempt: row.attempt + 1,
        eventId: eventId ?? `evt_${dialect.hexOf(row.eventNo)}`,
        body,
      });
    }
    return taken;
  });
}

/** Drops a request whose event retention has removed. */
async function dropRequest(queries: Queries, { entity, id }: SessionKey, requestId: SqlUuid, nowMs: number) {
  await queries.run('update listen_requests set done_at_ms = $4 where entity_id = $1 and session_id = $2 and id = $3', [
    entity,
    id,
    requestId,
    nowMs,
  ]);
  await queries.run('update listen_sessions set dropped = dropped + 1 where entity_id = $1 and id = $2', [entity, id]);
}

/** `used` is a token that was used, has expired or belongs to another session. */
export type Reported = 'reported' | 'no session' | 'no request' | 'used';

const TOKEN = /^[0-9a-f]{32}$/;

/** Stores the result of a request and ends the request, even if the result is a failure. */
export function reportResult(
  db: Database,
  session: SessionKey,
  { deliveryId, token }: { readonly deliveryId: string; readonly token: string },
): Promise<Reported> {
  const { bindUuid, nowMs } = db.dialect;
  const { entity, id } = session;
  const hex = hexOfId('dlv', deliveryId);
  return db.transaction(async (queries) => {
    if (!(await sessionExists(queries, session))) return 'no session';
    if (hex === null) return 'no request';
    const requestId = bindUuid(hex);
    const done = TOKEN.test(token)
      ? await queries.run(
          `update listen_requests set done_at_ms = ${nowMs}
           where entity_id = $1 and session_id = $2 and id = $3 and token = $4 and done_at_ms is null`,
          [entity, id, requestId, bindUuid(token)],
        )
      : 0;
    if (done > 0) return 'reported';
    // Searches all sessions of the entity.
    const sql = 'select 1 as found from listen_requests where entity_id = $1 and id = $2 limit 1';
    return (await queries.get(sql, [entity, requestId])) === undefined ? 'no request' : 'used';
  });
}
