import type { Database, Dialect, Queries, SqlInteger, SqlValue } from '../database/database.ts';
import type { PacedBatches } from '../database/paced-batches.ts';
import { chunks, ROWS_PER_STATEMENT } from '../database/sql.ts';
import { pruneStats } from '../stats/read.ts';

/**
 * Removes what is settled and old, entity by entity along the indexes by date, in short transactions. What is still on
 * its way stays however old it is, and so does its event. Several instances may do this at once: what one of them is
 * deleting the others pass over.
 */

export type Pruned = { deliveries: number; attempts: number; events: number; redeliveries: number; secrets: number };

export type PruneOptions = {
  olderThanMs: number;
  pace: PacedBatches;
  /** Only counts what would go. */
  dryRun?: boolean;
  onProgress?: (soFar: Readonly<Pruned>) => void;
  /** The database's clock when absent: an instance whose own clock runs ahead must not take what others still keep. */
  nowMs?: number;
};

type Run = {
  db: Database;
  pace: PacedBatches;
  dryRun: boolean;
  nowS: number;
  /** Everything from before this moment goes. */
  beforeMs: number;
  beforeS: number;
  pruned: Pruned;
};

const ENTITIES_PER_LOOK = 100;

/** `due_ms` is set also where a redelivery of something settled is under way. */
const SETTLED = `status in ('delivered', 'failed', 'cancelled') and due_ms is null`;

export async function prune(db: Database, options: PruneOptions): Promise<Pruned> {
  const { pace, olderThanMs, dryRun = false, onProgress } = options;
  const nowMs = options.nowMs ?? (await databaseTimeMs(db));
  const beforeMs = nowMs - olderThanMs;
  const pruned: Pruned = { deliveries: 0, attempts: 0, events: 0, redeliveries: 0, secrets: 0 };
  const inSeconds = (ms: number) => Math.floor(ms / 1000);
  const run: Run = { db, pace, dryRun, nowS: inSeconds(nowMs), beforeMs, beforeS: inSeconds(beforeMs), pruned };
  for await (const { entityId, tables } of entitiesWithOldRows(run)) {
    for (const table of tables) {
      for await (const _part of STEPS[table](run, entityId)) onProgress?.(pruned);
      if (pace.isStopped) return pruned;
    }
  }
  return pruned;
}

/** Deliveries before events: an event goes only once nothing of it is left. */
const STEPS = {
  deliveries: pruneDeliveries,
  events: pruneEvents,
  redeliveries: pruneRedeliveries,
  signing_secrets: pruneSecrets,
  stats: pruneOldStats,
} as const;

type Table = keyof typeof STEPS;
const TABLES = Object.keys(STEPS) as Table[];

export async function databaseTimeMs(db: Database): Promise<number> {
  const row = await db.get<{ now_ms: SqlInteger }>(`select ${db.dialect.nowMs} as now_ms`);
  return Number(row?.now_ms ?? 0);
}

type EntityWithOldRows = { entityId: string; tables: Table[] };

/** Most entities have nothing to remove at most times: a hundred of them are told apart in one statement. */
async function* entitiesWithOldRows({ db, pace, beforeMs, beforeS, nowS }: Run): AsyncGenerator<EntityWithOldRows> {
  const has = (table: Table, old: string) =>
    `case when exists (select 1 from ${table} t where t.entity_id = n.id and t.${old}) then 1 else 0 end as ${table}`;
  const sql = `select n.id, ${has('deliveries', 'created_at_ms < $2')}, ${has('events', 'created_at_ms < $2')},
      ${has('redeliveries', 'finished_at < $3')}, ${has('signing_secrets', 'expires_at <= $4')},
      ${has('stats', 'seconds in (60, 3600, 86400) and t.start_s <= $3 - 86400')}
    from (select id from entities where id > $1 order by id limit ${ENTITIES_PER_LOOK}) n order by n.id`;
  let after = '';
  while (!pace.isStopped) {
    const page = await pace.part(() =>
      db.all<{ id: string } & Record<Table, SqlInteger>>(sql, [after, beforeMs, beforeS, nowS]),
    );
    for (const row of page) {
      const tables = TABLES.filter((table) => Number(row[table]) === 1);
      if (tables.length > 0) yield { entityId: row.id, tables };
    }
    const last = page.at(-1);
    if (last === undefined || page.length < ENTITIES_PER_LOOK) return;
    after = last.id;
  }
}

type Place = { createdAtMs: number; id: string };
type OldRows = { table: 'deliveries' | 'events'; columns: string; stays: string };
type OldRow = { created_at_ms: SqlInteger; id: string; stays: SqlInteger };

/**
 * Walks all that is old along the index by date, whether or not it may go, so that what stays is looked at once and not
 * again and again. Keys come first and rows after, by id: told to delete a range of this index, PostgreSQL takes it for
 * a thirtieth of the table and reads all of it, 130 ms for 60 rows of 100,000.
 */
async function* walkOld(
  { db, pace, beforeMs }: Run,
  { table, columns, stays }: OldRows,
  entityId: string,
  remove: (ids: readonly string[]) => Promise<void>,
): AsyncGenerator<void> {
  let after: Place | null = { createdAtMs: 0, id: '' };
  while (after !== null && !pace.isStopped) {
    const { createdAtMs, id }: Place = after;
    after = await pace.part(async (size): Promise<Place | null> => {
      const rows = await db.all<OldRow>(
        `select created_at_ms, id, case when ${stays} then 1 else 0 end as stays
         from (select ${columns} from ${table}
               where entity_id = $1 and (created_at_ms, id) > ($2, $3) and created_at_ms < $4
               order by created_at_ms, id limit ${size}) old
         order by created_at_ms, id`,
        [entityId, createdAtMs, id, beforeMs],
      );
      const ids = rows.filter((row) => Number(row.stays) === 0).map((row) => row.id);
      if (ids.length > 0) await remove(ids);
      const last = rows.length < size ? undefined : rows.at(-1);
      return last === undefined ? null : { createdAtMs: Number(last.created_at_ms), id: last.id };
    });
    yield;
  }
}

function pruneDeliveries(run: Run, entityId: string): AsyncGenerator<void> {
  const { db, pruned, dryRun } = run;
  const old: OldRows = { table: 'deliveries', columns: 'created_at_ms, id, status, due_ms', stays: `not (${SETTLED})` };
  return walkOld(run, old, entityId, async (ids) => {
    const gone = dryRun
      ? { deliveries: ids.length, attempts: await countAttempts(db, entityId, ids) }
      : await db.transaction((queries) => deleteDeliveries(queries, db.dialect, entityId, ids));
    pruned.deliveries += gone.deliveries;
    pruned.attempts += gone.attempts;
  });
}

async function deleteDeliveries(queries: Queries, { skipLocked }: Dialect, entityId: string, ids: readonly string[]) {
  const gone = { deliveries: 0, attempts: 0 };
  for (const chunk of chunks(ids)) {
    // Looked at again under a lock: one of them may have been asked for again since.
    const settled = await queries.all<{ id: string }>(
      `select id from deliveries where entity_id = $1 and id in (${ID_LIST}) and ${SETTLED} ${skipLocked}`,
      [entityId, ...filledUp(chunk)],
    );
    if (settled.length === 0) continue;
    const parameters = [entityId, ...filledUp(settled.map(({ id }) => id))];
    gone.deliveries += await queries.run(
      `delete from deliveries where entity_id = $1 and id in (${ID_LIST})`,
      parameters,
    );
    gone.attempts += await queries.run(
      `delete from attempts where entity_id = $1 and delivery_id in (${ID_LIST})`,
      parameters,
    );
  }
  return gone;
}

async function countAttempts(db: Database, entityId: string, deliveryIds: readonly string[]): Promise<number> {
  let attempts = 0;
  for (const chunk of chunks(deliveryIds)) {
    const parameters = [entityId, ...filledUp(chunk)];
    attempts += await count(db, `attempts where entity_id = $1 and delivery_id in (${ID_LIST})`, parameters);
  }
  return attempts;
}

/** One that has no delivery left never gets another: deliveries are made with their event. */
function pruneEvents(run: Run, entityId: string): AsyncGenerator<void> {
  const { db, pruned, dryRun, beforeMs } = run;
  // In a dry run the deliveries that would go are still there.
  const left = dryRun ? `and not (${SETTLED} and d.created_at_ms < ${beforeMs})` : '';
  const stays = `exists (select 1 from deliveries d where d.entity_id = $1 and d.event_id = old.id ${left})`;
  return walkOld(run, { table: 'events', columns: 'created_at_ms, id', stays }, entityId, async (ids) => {
    pruned.events += dryRun ? ids.length : await db.transaction((queries) => deleteEvents(queries, entityId, ids));
  });
}

async function deleteEvents(queries: Queries, entityId: string, ids: readonly string[]): Promise<number> {
  let gone = 0;
  for (const chunk of chunks(ids)) {
    const sql = `delete from events where entity_id = $1 and id in (${ID_LIST})`;
    gone += await queries.run(sql, [entityId, ...filledUp(chunk)]);
  }
  return gone;
}

/** Always as long, so that there is one text to prepare and not a hundred. */
const ID_LIST = Array.from({ length: ROWS_PER_STATEMENT }, (_, index) => `$${index + 2}`).join(', ');

/** With one that is in it already. */
function filledUp(ids: readonly string[]): string[] {
  return Array.from({ length: ROWS_PER_STATEMENT }, (_, index) => ids[index] ?? ids[0] ?? '');
}

async function* pruneRedeliveries({ db, pace, pruned, dryRun, beforeS }: Run, entityId: string): AsyncGenerator<void> {
  const old = 'redeliveries where entity_id = $1 and finished_at < $2';
  if (dryRun) {
    pruned.redeliveries += await count(db, old, [entityId, beforeS]);
    return;
  }
  for (let full = true; full && !pace.isStopped; ) {
    full = await pace.part(async (size) => {
      const sql = `delete from redeliveries where entity_id = $1 and id in (
        select id from ${old} limit ${size} ${db.dialect.skipLocked})`;
      const deleted = await db.transaction((queries) => queries.run(sql, [entityId, beforeS]));
      pruned.redeliveries += deleted;
      return deleted === size;
    });
    yield;
  }
}

/** Those that sign no more; there are a handful at most. */
async function* pruneSecrets({ db, pruned, dryRun, nowS }: Run, entityId: string): AsyncGenerator<void> {
  const expired = 'signing_secrets where entity_id = $1 and expires_at <= $2';
  const parameters = [entityId, nowS];
  pruned.secrets += dryRun
    ? await count(db, expired, parameters)
    : await db.transaction((queries) => queries.run(`delete from ${expired}`, parameters));
  yield;
}

/** Sums and no records of anything: they go with what they summed up, and nobody is told how many rows that were. */
async function* pruneOldStats({ db, pace, dryRun, beforeS }: Run, entityId: string): AsyncGenerator<void> {
  for (let full = !dryRun; full && !pace.isStopped; ) {
    full = await pace.part(async (size) => (await pruneStats(db, entityId, beforeS, size)) === size);
    yield;
  }
}

async function count(db: Database, from: string, parameters: readonly SqlValue[]): Promise<number> {
  const row = await db.get<{ total: SqlInteger }>(`select count(*) as total from ${from}`, parameters);
  return Number(row?.total ?? 0);
}

/** Whether some entity still has what should have gone by then; looks at the oldest few of each and no further. */
export async function holdsOverdue(db: Database, olderThanMs: number): Promise<boolean> {
  const beforeMs = (await databaseTimeMs(db)) - olderThanMs;
  let after: string | undefined = '';
  while (after !== undefined) {
    const rows: { id: string; overdue: SqlInteger }[] = await db.all(
      `select n.id, (
         select count(*) from (
           select id from events where entity_id = n.id and created_at_ms < $2 order by created_at_ms, id limit 10
         ) e where not exists (
           select 1 from deliveries d where d.entity_id = n.id and d.event_id = e.id and not (${SETTLED})
         )) as overdue
       from (select id from entities where id > $1 order by id limit ${ENTITIES_PER_LOOK}) n order by n.id`,
      [after, beforeMs],
    );
    if (rows.some(({ overdue }) => Number(overdue) > 0)) return true;
    after = rows.length < ENTITIES_PER_LOOK ? undefined : rows.at(-1)?.id;
  }
  return false;
}
