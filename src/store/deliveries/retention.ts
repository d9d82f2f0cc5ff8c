import type { Database, Dialect, Queries, SqlValue } from '../database/database.ts';
import type { PacedBatches } from '../database/paced-batches.ts';
import {
  Columns,
  chunks,
  integer,
  ROWS_PER_STATEMENT,
  type RowOf,
  readInteger,
  text,
  valuesList,
} from '../database/sql.ts';
import { pruneStats } from '../stats/read.ts';
import { entityTable } from '../tables.ts';
import { COMPLETED } from './states.ts';

/**
 * Removes old completed deliveries and their events, entity by entity along the indexes by date, in short transactions. A
 * waiting delivery stays however old it is, and so does its event. Several instances may do this at once: each skips the
 * rows that another is deleting.
 */

export type Pruned = { deliveries: number; attempts: number; events: number; redeliveries: number; secrets: number };

export type PruneOptions = {
  olderThanMs: number;
  batches: PacedBatches;
  /** Only counts what would be removed. */
  dryRun?: boolean;
  onProgress?: (soFar: Readonly<Pruned>) => void;
  /** The database's clock when absent: an instance whose own clock is ahead must not remove what is to be kept. */
  nowMs?: number;
};

type Run = {
  db: Database;
  batches: PacedBatches;
  dryRun: boolean;
  nowS: number;
  /** Everything from before this moment goes. */
  beforeMs: number;
  beforeS: number;
  pruned: Pruned;
};

const ENTITIES_PER_STATEMENT = 100;

export async function prune(db: Database, options: PruneOptions): Promise<Pruned> {
  const { batches, olderThanMs, dryRun = false, onProgress } = options;
  const nowMs = options.nowMs ?? (await databaseTimeMs(db));
  const beforeMs = nowMs - olderThanMs;
  const pruned: Pruned = { deliveries: 0, attempts: 0, events: 0, redeliveries: 0, secrets: 0 };
  const inSeconds = (ms: number) => Math.floor(ms / 1000);
  const run: Run = { db, batches, dryRun, nowS: inSeconds(nowMs), beforeMs, beforeS: inSeconds(beforeMs), pruned };
  for await (const { entityId, tables } of entitiesWithOldRows(run)) {
    for (const table of tables) {
      for await (const _part of STEPS[table](run, entityId)) onProgress?.(pruned);
      if (batches.isStopped) return pruned;
    }
  }
  return pruned;
}

/** Deliveries before events: an event is removed only when it has no delivery left. */
const STEPS = {
  deliveries: pruneDeliveries,
  events: pruneEvents,
  redeliveries: pruneRedeliveries,
  signing_secrets: pruneSecrets,
  stats: pruneOldStats,
} as const;

type Table = keyof typeof STEPS;
const TABLES = Object.keys(STEPS) as Table[];

export function databaseTimeMs(db: Database): Promise<number> {
  return readInteger(db, db.dialect.nowMs);
}

type EntityWithOldRows = { entityId: string; tables: Table[] };

const ENTITY = new Columns({
  entityId: entityTable.shape.entityId,
  deliveries: integer(),
  events: integer(),
  redeliveries: integer(),
  signing_secrets: integer(),
  stats: integer(),
} satisfies Record<Table | 'entityId', unknown>);

/** Most entities have nothing to remove most of the time, so one statement checks a hundred of them. */
async function* entitiesWithOldRows({ db, batches, beforeMs, beforeS, nowS }: Run): AsyncGenerator<EntityWithOldRows> {
  const has = (table: Table, old: string) =>
    `case when exists (select 1 from ${table} t where t.entity_id = n.id and t.${old}) then 1 else 0 end as ${table}`;
  const sql = `select n.id as "entityId", ${has('deliveries', 'created_at_ms < $2')}, ${has('events', 'created_at_ms < $2')},
      ${has('redeliveries', 'finished_at < $3')}, ${has('signing_secrets', 'expires_at <= $4')},
      ${has('stats', 'seconds in (60, 3600, 86400) and t.start_s <= $3 - 86400')}
    from (select id from entities where id > $1 order by id limit ${ENTITIES_PER_STATEMENT}) n order by n.id`;
  let after = '';
  while (!batches.isStopped) {
    const page = await batches.run(() => ENTITY.all(db, sql, [after, beforeMs, beforeS, nowS]));
    for (const row of page) {
      const tables = TABLES.filter((table) => row[table] === 1);
      if (tables.length > 0) yield { entityId: row.entityId, tables };
    }
    const last = page.at(-1);
    if (last === undefined || page.length < ENTITIES_PER_STATEMENT) return;
    after = last.entityId;
  }
}

type OldRows = { table: 'deliveries' | 'events'; columns: string; stays: string };

const OLD_ROW = new Columns({ createdAtMs: integer('created_at_ms'), id: text('id'), stays: integer() });
type Place = Pick<RowOf<typeof OLD_ROW>, 'createdAtMs' | 'id'>;

/**
 * Walks all old rows along the index by date, also those that stay, so that each is looked at once. Keys are read first
 * and rows deleted by id: for the deletion of a range of this index, PostgreSQL estimates a thirtieth of the table and
 * reads all of it, 130 ms for 60 rows of 100,000.
 */
async function* walkOld(
  { db, batches, beforeMs }: Run,
  { table, columns, stays }: OldRows,
  entityId: string,
  remove: (ids: readonly string[]) => Promise<void>,
): AsyncGenerator<void> {
  let after: Place | null = { createdAtMs: 0, id: '' };
  while (after !== null && !batches.isStopped) {
    const { createdAtMs, id }: Place = after;
    after = await batches.run(async (size): Promise<Place | null> => {
      const rows = await OLD_ROW.all(
        db,
        `select ${OLD_ROW.list}, case when ${stays} then 1 else 0 end as stays
         from (select ${columns} from ${table}
               where entity_id = $1 and (created_at_ms, id) > ($2, $3) and created_at_ms < $4
               order by created_at_ms, id limit ${size}) old
         order by created_at_ms, id`,
        [entityId, createdAtMs, id, beforeMs],
      );
      const ids = rows.filter((row) => row.stays === 0).map((row) => row.id);
      if (ids.length > 0) await remove(ids);
      return rows.length < size ? null : (rows.at(-1) ?? null);
    });
    yield;
  }
}

function pruneDeliveries(run: Run, entityId: string): AsyncGenerator<void> {
  const { db, pruned, dryRun } = run;
  const old: OldRows = {
    table: 'deliveries',
    columns: 'created_at_ms, id, status, due_ms',
    stays: `not (${COMPLETED})`,
  };
  return walkOld(run, old, entityId, async (ids) => {
    const removed = dryRun
      ? { deliveries: ids.length, attempts: await countAttempts(db, entityId, ids) }
      : await db.transaction((queries) => deleteDeliveries(queries, db.dialect, entityId, ids));
    pruned.deliveries += removed.deliveries;
    pruned.attempts += removed.attempts;
  });
}

async function deleteDeliveries(queries: Queries, { skipLocked }: Dialect, entityId: string, ids: readonly string[]) {
  const removed = { deliveries: 0, attempts: 0 };
  for (const chunk of chunks(ids)) {
    // Checked again under a lock: a redelivery may have been requested meanwhile.
    const completed = await queries.all<{ id: string }>(
      `select id from deliveries where entity_id = $1 and id in ${ID_LIST} and ${COMPLETED} ${skipLocked}`,
      [entityId, ...filledUp(chunk)],
    );
    if (completed.length === 0) continue;
    const parameters = [entityId, ...filledUp(completed.map(({ id }) => id))];
    removed.deliveries += await queries.run(
      `delete from deliveries where entity_id = $1 and id in ${ID_LIST}`,
      parameters,
    );
    removed.attempts += await queries.run(
      `delete from attempts where entity_id = $1 and delivery_id in ${ID_LIST}`,
      parameters,
    );
  }
  return removed;
}

async function countAttempts(db: Database, entityId: string, deliveryIds: readonly string[]): Promise<number> {
  let attempts = 0;
  for (const chunk of chunks(deliveryIds)) {
    const parameters = [entityId, ...filledUp(chunk)];
    attempts += await count(db, `attempts where entity_id = $1 and delivery_id in ${ID_LIST}`, parameters);
  }
  return attempts;
}

/** An event without deliveries never gets another: they are inserted together. */
function pruneEvents(run: Run, entityId: string): AsyncGenerator<void> {
  const { db, pruned, dryRun, beforeMs } = run;
  // In a dry run, the deliveries that would be removed are still there.
  const left = dryRun ? `and not (${COMPLETED} and d.created_at_ms < ${beforeMs})` : '';
  const stays = `exists (select 1 from deliveries d where d.entity_id = $1 and d.event_id = old.id ${left})`;
  return walkOld(run, { table: 'events', columns: 'created_at_ms, id', stays }, entityId, async (ids) => {
    pruned.events += dryRun ? ids.length : await db.transaction((queries) => deleteEvents(queries, entityId, ids));
  });
}

async function deleteEvents(queries: Queries, entityId: string, ids: readonly string[]): Promise<number> {
  let removed = 0;
  for (const chunk of chunks(ids)) {
    const sql = `delete from events where entity_id = $1 and id in ${ID_LIST}`;
    removed += await queries.run(sql, [entityId, ...filledUp(chunk)]);
  }
  return removed;
}

/** Always of the same length, so that one text is prepared and not a hundred. */
const ID_LIST = valuesList(1, ROWS_PER_STATEMENT, 1);

/** Repeats the first id until the list is full. */
function filledUp(ids: readonly string[]): string[] {
  return Array.from({ length: ROWS_PER_STATEMENT }, (_, index) => ids[index] ?? ids[0] ?? '');
}

async function* pruneRedeliveries(
  { db, batches, pruned, dryRun, beforeS }: Run,
  entityId: string,
): AsyncGenerator<void> {
  const old = 'redeliveries where entity_id = $1 and finished_at < $2';
  if (dryRun) {
    pruned.redeliveries += await count(db, old, [entityId, beforeS]);
    return;
  }
  for (let full = true; full && !batches.isStopped; ) {
    full = await batches.run(async (size) => {
      const sql = `delete from redeliveries where entity_id = $1 and id in (
        select id from ${old} limit ${size} ${db.dialect.skipLocked})`;
      const deleted = await db.transaction((queries) => queries.run(sql, [entityId, beforeS]));
      pruned.redeliveries += deleted;
      return deleted === size;
    });
    yield;
  }
}

/** Secrets that have expired; there are a handful at most. */
async function* pruneSecrets({ db, pruned, dryRun, nowS }: Run, entityId: string): AsyncGenerator<void> {
  const expired = 'signing_secrets where entity_id = $1 and expires_at <= $2';
  const parameters = [entityId, nowS];
  pruned.secrets += dryRun
    ? await count(db, expired, parameters)
    : await db.transaction((queries) => queries.run(`delete from ${expired}`, parameters));
  yield;
}

/** Sums expire with the deliveries that they summed up; their rows are not reported. */
async function* pruneOldStats({ db, batches, dryRun, beforeS }: Run, entityId: string): AsyncGenerator<void> {
  for (let full = !dryRun; full && !batches.isStopped; ) {
    full = await batches.run(async (size) => (await pruneStats(db, entityId, beforeS, size)) === size);
    yield;
  }
}

function count(db: Database, from: string, parameters: readonly SqlValue[]): Promise<number> {
  return readInteger(db, 'count(*)', `from ${from}`, parameters);
}

const OVERDUE = new Columns({ entityId: entityTable.shape.entityId, overdue: integer() });

/** Whether an entity still has events that should have been removed; looks only at the oldest few of each. */
export async function holdsOverdue(db: Database, olderThanMs: number): Promise<boolean> {
  const beforeMs = (await databaseTimeMs(db)) - olderThanMs;
  let after: string | undefined = '';
  while (after !== undefined) {
    const rows: RowOf<typeof OVERDUE>[] = await OVERDUE.all(
      db,
      `select n.id as "entityId", (
         select count(*) from (
           select id from events where entity_id = n.id and created_at_ms < $2 order by created_at_ms, id limit 10
         ) e where not exists (
           select 1 from deliveries d where d.entity_id = n.id and d.event_id = e.id and not (${COMPLETED})
         )) as overdue
       from (select id from entities where id > $1 order by id limit ${ENTITIES_PER_STATEMENT}) n order by n.id`,
      [after, beforeMs],
    );
    if (rows.some(({ overdue }) => overdue > 0)) return true;
    after = rows.length < ENTITIES_PER_STATEMENT ? undefined : rows.at(-1)?.entityId;
  }
  return false;
}
