import { readNowMs } from '../database/clock.ts';
import type { Database, SqlUuid } from '../database/database.ts';
import { readReachable } from '../database/reachable-shards.ts';
import { Columns, uuid } from '../database/sql.ts';
import type { SessionKey } from './sessions.ts';

/** Removes listen sessions without a reader, and what sessions leave behind, in transactions of a bounded size. */

/** How long a session outlives its reader. */
const READERLESS_MS = 60_000;
/** How long a token is known to be used. */
const DONE_KEPT_MS = 60_000;
const ROWS_PER_STEP = 500;
const SESSIONS_PER_LOOK = 100;

const keyColumns = new Columns({ entity: uuid('entity_id'), id: uuid('id') });
const entityColumn = new Columns({ entity: uuid('entity_id') });

export async function removeEndedSessions(db: Database, signal: AbortSignal): Promise<void> {
  const nowMs = await readNowMs(db, db.dialect);
  // A session goes after its requests: without sessions there is nothing else to look for.
  for (const { entity } of await findEntities(db)) {
    if (signal.aborted) return;
    await db.transaction((queries) =>
      queries.run('update listen_sessions set ended = 1 where entity_id = $1 and ended = 0 and seen_ms < $2', [
        entity,
        nowMs - READERLESS_MS,
      ]),
    );
    const ended = await keyColumns.all(
      db,
      `select ${keyColumns.list} from listen_sessions where entity_id = $1 and ended = 1 limit ${SESSIONS_PER_LOOK}`,
      [entity],
    );
    for (const session of ended) {
      if (!signal.aborted) await removeSession(db, session, signal);
    }
    while (!signal.aborted && (await removeDone(db, entity, nowMs - DONE_KEPT_MS)) === ROWS_PER_STEP);
  }
}

/** Those that have sessions. */
function findEntities(db: Database): Promise<{ entity: SqlUuid }[]> {
  const text = (sessions: string) => `select ${entityColumn.list} from ${sessions} group by entity_id`;
  return readReachable(db, (reads) => entityColumn.all(reads, text('listen_sessions')), {
    tables: ['listen_sessions'],
    select: (sessions = '') => text(sessions),
  });
}

/** No request is added to a session that has ended. */
async function removeSession(db: Database, { entity, id }: SessionKey, signal: AbortSignal): Promise<void> {
  const ofSession = 'from listen_requests where entity_id = $1 and session_id = $2';
  const removeRequests = () =>
    db.transaction((queries) =>
      queries.run(`delete ${ofSession} and id in (select id ${ofSession} order by id limit ${ROWS_PER_STEP})`, [
        entity,
        id,
      ]),
    );
  while (!signal.aborted && (await removeRequests()) > 0);
  // Another instance may be removing the same requests: then some are left, and the session stays for the next run.
  await db.transaction((queries) =>
    queries.run(`delete from listen_sessions where entity_id = $1 and id = $2 and not exists (select 1 ${ofSession})`, [
      entity,
      id,
    ]),
  );
}

function removeDone(db: Database, entity: SqlUuid, beforeMs: number): Promise<number> {
  return db.transaction((queries) =>
    queries.run(
      `delete from listen_requests where entity_id = $1 and (session_id, id) in (
         select session_id, id from listen_requests where entity_id = $1 and done_at_ms < $2 limit ${ROWS_PER_STEP})`,
      [entity, beforeMs],
    ),
  );
}
