import { DomainError } from '../../domain/errors.ts';
import { hexOfId } from '../../domain/ids.ts';
import type { PayloadFilter } from '../../domain/payload-filter/payload-filter.ts';
import { makeSecret } from '../../domain/signing.ts';
import type { Database, Dialect, Queries, SqlUuid, SqlValue } from '../database/database.ts';
import { entityKey, readInteger } from '../database/sql.ts';
import { newId, randomBytes } from '../new-id.ts';
import { listenSessionTable } from '../tables.ts';
import { restartTasks } from '../tasks/tasks.ts';
import type { SecretBox } from '../tenants/secret-box.ts';
import { checkSecretsOpen } from '../tenants/signing-keys.ts';

/**
 * Listen sessions: events for a program without a public URL, which reads them from the server. Sessions are not
 * webhooks: lists, counts and limits of webhooks and deliveries do not include them.
 *
 * made ── a reader connects ⇄ reader lost ──► 60 s without a reader, or deleted: ended ──► removed in steps
 *
 * Locks: the row of a session before the rows of its requests. Acceptance locks it after all of its other rows.
 */

const MAX_SESSIONS = 5;

/** Finds a session by its entity and id, so that an id of another entity finds nothing. */
export type SessionKey = { readonly entity: SqlUuid; readonly id: SqlUuid };

/** The events that a session wants; null for all. */
export type Wanted = {
  readonly events: readonly string[] | null;
  readonly networkIds: readonly number[] | null;
  readonly filter: PayloadFilter | null;
};

export type NewSession = { readonly sessionId: string; readonly secret: string };

/** Null if the text is not the id of a session. */
export function sessionKey(dialect: Dialect, entityId: string, sessionId: string): SessionKey | null {
  const hex = hexOfId('lst', sessionId);
  return hex === null ? null : { entity: entityKey(dialect, entityId), id: dialect.bindUuid(hex) };
}

/** Creates a session with its own secret. With a secret of the entity, everyone who may listen could sign for all endpoints. */
export function createSession(db: Database, box: SecretBox, entityId: string, wanted: Wanted): Promise<NewSession> {
  const { dialect } = db;
  const sessionId = newId('lst');
  const secret = makeSecret(randomBytes(32));
  const entity = entityKey(dialect, entityId);
  return db.transaction(async (queries) => {
    // Locks the entity without a new revision, because a new revision would outdate caches.
    await queries.get(`select id from entities where id = $1 ${dialect.lockRow}`, [entityId]);
    const from = 'from listen_sessions where entity_id = $1 and ended = 0';
    const sessions = await readInteger(queries, 'count(*)', from, [entity]);
    if (sessions >= MAX_SESSIONS) throw new DomainError('listen_limit', { limit: MAX_SESSIONS });
    await queries.run(
      `insert into listen_sessions (entity_id, id, entity, created_at_ms, seen_ms, sealed, wanted)
       values ($1, $2, $3, ${dialect.nowMs}, ${dialect.nowMs}, $4, $5)`,
      [
        entity,
        dialect.bindUuid(hexOfId('lst', sessionId) ?? ''),
        entityId,
        box.seal(secret, contextOf(entityId, sessionId)),
        JSON.stringify(wanted),
      ],
    );
    // Checks after the insert, because the insert waits for a rekey to end. A process with the old key must not seal anything
    // after the rekey.
    await checkSecretsOpen(queries, box);
    return { sessionId, secret };
  });
}

export async function sessionExists(queries: Pick<Queries, 'get'>, { entity, id }: SessionKey): Promise<boolean> {
  const sql = 'select 1 as found from listen_sessions where entity_id = $1 and id = $2 and ended = 0';
  return (await queries.get(sql, [entity, id])) !== undefined;
}

/** Returns false if there is no such session. */
export async function endSession(db: Database, { entity, id }: SessionKey): Promise<boolean> {
  return (await db.transaction((queries) => endSessions(queries, db.dialect, entity, 'id = $2', id))) > 0;
}

const endedColumns = listenSessionTable.pick(['id', 'entityId']);

/** Ends sessions. A task removes the rows of each session (`remove-ended.ts`). Returns how many have ended. */
export async function endSessions(
  queries: Queries,
  dialect: Dialect,
  entity: SqlUuid,
  condition: string,
  value: SqlValue,
): Promise<number> {
  const ended = await endedColumns.all(
    queries,
    `update listen_sessions set ended = 1 where entity_id = $1 and ended = 0 and ${condition} returning ${endedColumns.list}`,
    [entity, value],
  );
  const tasks = ended.map(({ id: subject, entityId }) => {
    return { kind: 'end_session' as const, entityId, subject, phase: 'removing' };
  });
  await restartTasks(queries, dialect, tasks);
  return ended.length;
}

const sealedColumns = listenSessionTable.pick(['entity', 'id', 'entityId', 'sealed']);

/**
 * Makes this connection the reader of the session, and returns the secret that signs its requests. Null if there is no such
 * session. The new reader gets the requests that the previous reader has not reported.
 */
export function connectReader(
  db: Database,
  box: SecretBox,
  { entity, id }: SessionKey,
  reader: SqlUuid,
): Promise<string | null> {
  return db.transaction(async (queries) => {
    const session = await sealedColumns.get(
      queries,
      `update listen_sessions set reader = $3, seen_ms = ${db.dialect.nowMs}
       where entity_id = $1 and id = $2 and ended = 0 returning ${sealedColumns.list}`,
      [entity, id, reader],
    );
    return session === undefined ? null : openSecret(box, db.dialect, session);
  });
}

/** Renews the session of its newest reader. */
export async function renewReader(db: Database, { entity, id }: SessionKey, reader: SqlUuid): Promise<void> {
  await db.transaction((queries) =>
    queries.run(
      `update listen_sessions set seen_ms = ${db.dialect.nowMs}
       where entity_id = $1 and id = $2 and reader = $3 and ended = 0`,
      [entity, id, reader],
    ),
  );
}

const stateColumns = listenSessionTable.pick(['dropped']);

/** How many requests the session has dropped in its life. Null if the session has a newer reader, or does not exist. */
export async function readDropped(
  queries: Pick<Queries, 'get'>,
  { entity, id }: SessionKey,
  reader: SqlUuid,
): Promise<number | null> {
  const row = await stateColumns.get(
    queries,
    `select ${stateColumns.list} from listen_sessions where entity_id = $1 and id = $2 and reader = $3 and ended = 0`,
    [entity, id, reader],
  );
  return row?.dropped ?? null;
}

/** For operators: seals the secret of every session under another key. Returns the entity of each session. */
export async function rekeySessions(
  queries: Queries,
  dialect: Dialect,
  from: SecretBox,
  to: SecretBox,
): Promise<string[]> {
  const sessions = await sealedColumns.all(queries, `select ${sealedColumns.list} from listen_sessions`);
  for (const session of sessions) {
    const sealed = to.seal(
      openSecret(from, dialect, session),
      contextOf(session.entityId, nameOf(dialect, session.id)),
    );
    const sql = 'update listen_sessions set sealed = $3 where entity_id = $1 and id = $2';
    await queries.run(sql, [session.entity, session.id, sealed]);
  }
  return sessions.map(({ entityId }) => entityId);
}

type Sealed = { readonly entityId: string; readonly id: SqlUuid; readonly sealed: string };

function openSecret(box: SecretBox, dialect: Dialect, { entityId, id, sealed }: Sealed): string {
  return box.open(sealed, contextOf(entityId, nameOf(dialect, id)));
}

function nameOf({ hexOf }: Dialect, id: SqlUuid): string {
  return `lst_${hexOf(id)}`;
}

function contextOf(entityId: string, sessionId: string): string {
  return `listen ${entityId} ${sessionId}`;
}
