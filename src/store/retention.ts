import type { Database, Queries, SqlInteger, SqlValue } from './database.ts';
import type { Pace } from './pace.ts';
import { pruneStats } from './stats.ts';
import { chunks, ROWS_PER_STATEMENT } from './values.ts';

/**
 * Removes what is settled and old, entity by entity along the indexes by date, in short transactions. What is still on
 * its way stays however old it is, and so does its event. Several instances may do this at once: what one of them is
 * deleting the others pass over.
 */

export type Pruned = { deliveries: number; attempts: number; events: number; redeliveries: number; secrets: number };

export type PruneOptions = {
  olderThanMs: number;
  pace: Pace;
  /** Only counts what would go. */
  dryRun?: boolean;
  onProgress?: (soFar: Readonly<Pruned>) => void;
  /** The database's clock when absent: an instance whose own clock runs ahead must not take what others still keep. */
  nowMs?: number;
};

type Run = {
  db: Database;
  pace: Pace;
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
      ${has('stats', 'seconds in (60, 3600) and t.start_s <= $3 - 3600')}
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

/** A stretch of an index by date: from `after` (not included) to `to` (included). */
type Stretch = { after: Place; to: Place };
type Place = { createdAtMs: number; id: string };

const IN_STRETCH = `entity_id = $1 and (created_at_ms, id) > ($2, $3) and (created_at_ms, id) <= ($4, $5)`;

/** Walks all that is old, whether or not it may go, so that what stays is looked at once and never again and again. */
async function* oldStretches(
  run: Run,
  table: 'deliveries' | 'events',
  entityId: string,
  work: (parameters: readonly SqlValue[]) => Promise<void>,
): AsyncGenerator<void> {
  let after: Place | null = { createdAtMs: 0, id: '' };
  while (after !== null && !run.pace.isStopped) {
    const from: Place = after;
    after = await run.pace.part(async (size) => {
      const end = await endOfStretch(run, table, entityId, from, size);
      const to = end ?? { createdAtMs: run.beforeMs, id: '' };
      await work(stretchParameters(entityId, { after: from, to }));
      return end;
    });
    yield;
  }
}

function stretchParameters(entityId: string, { after, to }: Stretch): SqlValue[] {
  return [entityId, after.createdAtMs, after.id, to.createdAtMs, to.id];
}

/** Null when fewer than `size` old ones are left. */
async function endOfStretch(
  { db, beforeMs }: Run,
  table: string,
  entityId: string,
  after: Place,
  size: number,
): Promise<Place | null> {
  const row = await db.get<{ created_at_ms: SqlInteger; id: string }>(
    `select created_at_ms, id from ${table}
     where entity_id = $1 and (created_at_ms, id) > ($2, $3) and created_at_ms < $4
     order by created_at_ms, id limit 1 offset $5`,
    [entityId, after.createdAtMs, after.id, beforeMs, size - 1],
  );
  return row === undefined ? null : { createdAtMs: Number(row.created_at_ms), id: row.id };
}

function pruneDeliveries(run: Run, entityId: string): AsyncGenerator<void> {
  const { db, pruned, dryRun } = run;
  const old = `select id from deliveries where ${IN_STRETCH} and ${SETTLED}`;
  return oldStretches(run, 'deliveries', entityId, async (stretch) => {
    if (dryRun) {
      pruned.deliveries += await count(db, `deliveries where ${IN_STRETCH} and ${SETTLED}`, stretch);
      pruned.attempts += await count(db, `attempts where entity_id = $1 and delivery_id in (${old})`, stretch);
      return;
    }
    const gone = await db.transaction(async (queries) => {
      const deliveries = await queries.all<{ id: string }>(
        `delete from deliveries where entity_id = $1 and id in (${old} ${db.dialect.skipLocked}) returning id`,
        stretch,
      );
      const attempts = await deleteAttempts(
        queries,
        entityId,
        deliveries.map(({ id }) => id),
      );
      return { deliveries: deliveries.length, attempts };
    });
    pruned.deliveries += gone.deliveries;
    pruned.attempts += gone.attempts;
  });
}

async function deleteAttempts(queries: Queries, entityId: string, deliveryIds: readonly string[]): Promise<number> {
  let deleted = 0;
  for (const chunk of chunks(deliveryIds)) {
    // Filled up with one that is in it already: so there is one text to prepare and not a hundred.
    const ids = Array.from({ length: ROWS_PER_STATEMENT }, (_, index) => chunk[index] ?? chunk[0] ?? '');
    deleted += await queries.run(
      `delete from attempts where entity_id = $1
       and delivery_id in (${ids.map((_, index) => `$${index + 2}`).join(', ')})`,
      [entityId, ...ids],
    );
  }
  return deleted;
}

function pruneEvents(run: Run, entityId: string): AsyncGenerator<void> {
  const { db, pruned, dryRun, beforeMs } = run;
  const hasNo = (left: string) =>
    `not exists (select 1 from deliveries d where d.entity_id = events.entity_id and d.event_id = events.id ${left})`;
  return oldStretches(run, 'events', entityId, async (stretch) => {
    if (dryRun) {
      const left = `and not (${SETTLED} and d.created_at_ms < $6)`;
      pruned.events += await count(db, `events where ${IN_STRETCH} and ${hasNo(left)}`, [...stretch, beforeMs]);
      return;
    }
    const sql = `delete from events where entity_id = $1 and id in (
      select id from events where ${IN_STRETCH} and ${hasNo('')} ${db.dialect.skipLocked})`;
    pruned.events += await db.transaction((queries) => queries.run(sql, stretch));
  });
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
