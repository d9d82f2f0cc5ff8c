import { Database as Connection } from 'bun:sqlite';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../src/config.ts';
import { type Database, type SqlInteger, StoreUnavailableError } from '../src/store/database/database.ts';
import { openDatabase } from '../src/store/database/open.ts';
import { TEST_SECRET_KEY } from '../test/support/command-line.ts';
import { tempBase } from '../test/support/temp-base.ts';

/** What the store itself must show, looked at from outside of the service. */

/** Events that have not exactly as many deliveries as were promised for them. */
const HALF_FAN_OUTS = `select count(*) as count from events e
  where e.deliveries <> (select count(*) from deliveries d where d.entity_id = e.entity_id and d.event_id = e.id)`;

/** More than enough for a machine that is busy with other things; a look is not what is tried here. */
const LOOKS = 10;

/** A connection of its own for one look, so that no fault finds a connection of ours in its way. */
export async function withStore<Value>(url: string, look: (db: Database) => Promise<Value>): Promise<Value> {
  for (let left = LOOKS; ; left--) {
    try {
      return await lookOnce(url, look);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || left === 1) throw error;
    }
  }
}

async function lookOnce<Value>(url: string, look: (db: Database) => Promise<Value>): Promise<Value> {
  const { DATABASE_URL } = loadConfig({ DATABASE_URL: url, SECRET_KEY: TEST_SECRET_KEY });
  const db = await openDatabase(DATABASE_URL);
  try {
    return await look(db);
  } finally {
    await db.close();
  }
}

export async function countRows(db: Pick<Database, 'get'>, sql: string): Promise<number> {
  return Number((await db.get<{ count: SqlInteger }>(sql))?.count ?? Number.NaN);
}

/** The store as a dead process left it. */
export async function auditAfterKill(url: string): Promise<string[]> {
  if (url.startsWith('sqlite:')) return onCopy(url.slice('sqlite:'.length), auditSqlite);
  return withStore(url, async (db) => halfFanOuts(await countRows(db, HALF_FAN_OUTS)));
}

/** The store of a service that has come to rest. */
export async function auditAtRest(url: string): Promise<string[]> {
  if (url.startsWith('sqlite:')) return auditAfterKill(url);
  return withStore(url, async (db) => {
    const broken = halfFanOuts(await countRows(db, HALF_FAN_OUTS));
    try {
      await db.transaction(async (queries) => {
        await queries.run('create extension if not exists amcheck');
        await queries.all(
          `select bt_index_check(i.indexrelid, true) from pg_index i join pg_class c on c.oid = i.indexrelid
           join pg_am a on a.oid = c.relam
           where a.amname = 'btree' and c.relnamespace = current_schema::regnamespace and c.relpersistence = 'p'`,
        );
      });
    } catch (error) {
      broken.push(`amcheck found: ${error instanceof Error ? error.message : error}`);
    }
    return broken;
  });
}

/** On a copy, since opening the store itself would mend what the next start has to mend. */
async function onCopy(file: string, look: (copy: string) => string[]): Promise<string[]> {
  const folder = mkdtempSync(join(tempBase(), 'paybell-audit-'));
  try {
    for (const end of ['', '-wal']) {
      if (existsSync(file + end)) copyFileSync(file + end, join(folder, `copy.db${end}`));
    }
    return look(join(folder, 'copy.db'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function auditSqlite(file: string): string[] {
  using copy = new Connection(file, { readwrite: true });
  const health = copy.query('pragma integrity_check').all() as { integrity_check: string }[];
  const damage = health.filter((row) => row.integrity_check !== 'ok').map((row) => row.integrity_check);
  const { count } = copy.query(HALF_FAN_OUTS).get() as { count: number };
  return [...damage.map((what) => `integrity_check found: ${what}`), ...halfFanOuts(count)];
}

function halfFanOuts(count: number): string[] {
  return count === 0 ? [] : [`${count} events have not exactly one delivery for each webhook`];
}
