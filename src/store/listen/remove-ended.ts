import { readNowMs } from '../database/clock.ts';
import type { Database, SqlUuid } from '../database/database.ts';
import { readReachable } from '../database/reachable-shards.ts';
import { Columns, uuid } from '../database/sql.ts';
import type { Progress, StepTools, Task } from '../tasks/tasks.ts';
import { endSessions } from './sessions.ts';

/** Ends listen sessions without a reader, and removes the rows of sessions, in transactions of a bounded size. */

/** How long a session exists without a reader. */
const READERLESS_MS = 60_000;
/** How long a used token is remembered. */
const DONE_KEPT_MS = 60_000;
const ROWS_PER_STEP = 500;

const entityColumn = new Columns({ entity: uuid('entity_id') });

export async function endReaderlessSessions(db: Database, signal: AbortSignal): Promise<void> {
  // After a step forward of the clock, a reader still has time to renew its session.
  const nowMs = db.dialect.leaseClock.endedBy(await readNowMs(db, db.dialect));
  // A session is removed after its requests, so only entities with sessions have anything to remove.
  for (const { entity } of await findEntities(db)) {
    if (signal.aborted) return;
    const beforeMs = nowMs - READERLESS_MS;
    await db.transaction((queries) => endSessions(queries, db.dialect, entity, 'seen_ms < $2', beforeMs));
    while (!signal.aborted && (await removeDone(db, entity, nowMs - DONE_KEPT_MS)) === ROWS_PER_STEP);
  }
}

/** The entities that have sessions. */
function findEntities(db: Database): Promise<{ entity: SqlUuid }[]> {
  const text = (sessions: string) => `select ${entityColumn.list} from ${sessions} group by entity_id`;
  return readReachable(db, (reads) => entityColumn.all(reads, text('listen_sessions')), {
    tables: ['listen_sessions'],
    select: (sessions = '') => text(sessions),
  });
}

/** Removes the requests of a session that has ended, and then the session. An ended session gets no new requests. */
export async function endSessionStep(
  { queries, dialect }: StepTools,
  { entity, subject, phase, cursor }: Task,
): Promise<Progress | 'done'> {
  const ofSession = 'from listen_requests where entity_id = $1 and session_id = $2';
  const some = `select id ${ofSession} order by id limit ${dialect.limits.rows}`;
  const removed = await queries.run(`delete ${ofSession} and id in (${some})`, [entity, subject]);
  if (removed === dialect.limits.rows) return { phase, cursor, waitMs: 0 };
  await queries.run('delete from listen_sessions where entity_id = $1 and id = $2', [entity, subject]);
  return 'done';
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
