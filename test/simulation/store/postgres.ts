import { SQL } from 'bun';
import type { Database, Queries, Reads } from '../../../src/store/database/database.ts';
import { migrate } from '../../../src/store/database/migrate.ts';
import { openPostgres } from '../../../src/store/database/postgres/postgres.ts';
import { asNobody } from '../world/owners.ts';
import { world } from '../world/world.ts';
import { ARCHIVE } from './archive.ts';
import type { OpenedStore } from './sqlite.ts';

/**
 * The real engine. Virtual time stands still while a statement is under way, unless every one of them waits for a lock: then
 * the transaction that holds it has to go on. The server orders its own work, so that a seed fixes the operations and the
 * faults and not the schedule.
 */

/** Long enough for a commit that is 15 s late. */
const DEADLINE_MS = 20_000;
/** Connections of the store. */
const POOL = 16;

const base = process.env.SIMULATION_DATABASE_URL ?? '';
let template: string | null = null;
let opened = 0;

function urlOf(name: string): string {
  const url = new URL(base);
  url.pathname = `/${name}`;
  return url.href;
}

/** The work of a real server: no virtual time passes until its end. */
function real<Value>(work: () => Promise<Value>): Promise<Value> {
  return world.calls.make(work);
}

export async function openPostgresStore(): Promise<OpenedStore> {
  const admin = new SQL(base, { max: 1 });
  world.calls.isStarting = true;
  template ??= await world.until(asNobody(() => real(() => makeTemplate(admin))));
  const name = `paybell_simulation_${process.pid}_${++opened}`;
  const source = template;
  const db = await world.until(
    asNobody(() =>
      real(async () => {
        await admin.unsafe(`create database ${name} template ${source}`);
        return openPostgres({ url: urlOf(name), deadlineMs: DEADLINE_MS, pool: POOL });
      }),
    ),
  );
  world.calls.isStarting = false;
  world.isBlocked = () => areBlocked(admin, name);
  return {
    db: counted(db),
    remove: async () => {
      world.isBlocked = async () => false;
      await db.close();
      await admin.unsafe(`drop database if exists ${name} with (force)`);
      await admin.close();
    },
  };
}

async function makeTemplate(admin: SQL): Promise<string> {
  const name = `paybell_simulation_${process.pid}_template`;
  await admin.unsafe(`drop database if exists ${name}`);
  await admin.unsafe(`create database ${name}`);
  const db = await openPostgres({ url: urlOf(name), deadlineMs: DEADLINE_MS });
  await migrate(db);
  await db.transaction(async (queries) => {
    for (const sql of ARCHIVE.postgres) await queries.run(sql);
  });
  await db.close();
  return name;
}

/**
 * Whether every statement under way waits for a lock, so that the transaction that has it must go on. Statements without a
 * connection wait as well, if each of the pool is in a transaction.
 */
async function areBlocked(admin: SQL, name: string): Promise<boolean> {
  const [row]: Readonly<Record<'blocked' | 'active' | 'busy', number | string>>[] = await admin.unsafe(
    `select count(*) filter (where wait_event_type = 'Lock') as blocked, count(*) filter (where state = 'active') as active,
       count(*) filter (where state <> 'idle') as busy
     from pg_stat_activity where datname = '${name}'`,
  );
  if (row === undefined) return false;
  const blocked = Number(row.blocked);
  return blocked >= world.calls.pending || (Number(row.busy) >= POOL && blocked === Number(row.active));
}

/** The same database, whose statements hold virtual time. Between the statements of a transaction it goes on. */
function counted(db: Database): Database {
  const queriesOf = (queries: Queries): Queries => ({
    all: (sql, params) => real(() => queries.all(sql, params)),
    get: (sql, params) => real(() => queries.get(sql, params)),
    run: (sql, params) => real(() => queries.run(sql, params)),
    send: (sql, params) => real(() => queries.send(sql, params)),
  });
  /** Begin and end are statements too: only the work between them is virtual. */
  const around = <Value>(
    begin: (work: (queries: Queries) => Promise<Value>) => Promise<Value>,
    work: (queries: Queries) => Promise<Value>,
  ) => {
    const { calls } = world;
    return calls.make(() => begin((queries) => calls.within(() => work(queriesOf(queries)))));
  };
  const reads: Reads = {
    all: (sql, params) => real(() => db.all(sql, params)),
    get: (sql, params) => real(() => db.get(sql, params)),
    snapshot: (work) => around((inner) => db.snapshot(inner), work),
  };
  return {
    ...reads,
    ...{ engine: db.engine, dialect: db.dialect, longReads: reads, dataVersion: null },
    transaction: (work, options) => around((inner) => db.transaction(inner, options), work),
    announceWork: () => Promise.resolve(),
    onWork: () => Promise.resolve(),
    checkpoint: () => Promise.resolve(),
    close: () => db.close(),
  };
}
