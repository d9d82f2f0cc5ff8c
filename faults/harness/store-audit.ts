import { Database as Connection } from 'bun:sqlite';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { commandTarget } from '../../src/config/database-target.ts';
import { loadConfig } from '../../src/config.ts';
import { type Database, type SqlInteger, StoreUnavailableError } from '../../src/store/database/database.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { TEST_SECRET_KEY } from '../../test/support/command-line.ts';
import { wrongDeliveryCounters } from '../../test/support/delivery-counters.ts';
import { tempBase } from '../../test/support/temp-base.ts';
import { wrongCounters } from '../../test/support/webhooks.ts';

/** Checks of the store from outside the service. */

/**
 * Events whose number of deliveries is not the one that was stored with the event, and of which none are to follow.
 * `numberOf` is that of an id's event.
 */
const incompleteFanOutsSql = (numberOf: (id: string) => string) => `select count(*) as count from events e
  left join (select entity_id, ${numberOf('id')} as event_no, count(*) as deliveries
             from (select entity_id, id from queue union all select entity_id, id from deliveries) a
             group by entity_id, ${numberOf('id')}) d
    on d.entity_id = e.entity_id and d.event_no = ${numberOf('e.no')}
  where e.deliveries <> coalesce(d.deliveries, 0)
    and not exists (select 1 from tasks f where f.entity_id = e.entity_id and f.event_no = e.no)`;
const INCOMPLETE_ON_SQLITE = incompleteFanOutsSql((id) => `substr(${id}, 1, 11)`);
const INCOMPLETE_ON_POSTGRES = incompleteFanOutsSql((id) => `left(cast(${id} as text), 26)`);

/** A busy machine may delay a read past its deadline, which is no violation. */
const MAX_READS = 10;

/** Opens a connection for this one read, so that the fault does not meet a connection of the trial. */
export async function withStore<Value>(url: string, read: (db: Database) => Promise<Value>): Promise<Value> {
  for (let left = MAX_READS; ; left--) {
    try {
      return await readOnce(url, read);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || left === 1) throw error;
    }
  }
}

async function readOnce<Value>(url: string, read: (db: Database) => Promise<Value>): Promise<Value> {
  const settings = { DATABASE_URL: url, SECRET_KEY: TEST_SECRET_KEY, DATABASE_TIMEOUT: '60s' };
  const db = await openDatabase(commandTarget(loadConfig(settings)));
  try {
    return await read(db);
  } finally {
    await db.close();
  }
}

export async function countRows(db: Pick<Database, 'get'>, sql: string): Promise<number> {
  return Number((await db.get<{ count: SqlInteger }>(sql))?.count ?? Number.NaN);
}

/** Checks the store as a killed process left it. */
export async function auditAfterKill(url: string): Promise<string[]> {
  if (url.startsWith('sqlite:')) return onCopy(url.slice('sqlite:'.length), auditSqlite);
  return withStore(url, async (db) => incompleteFanOuts(await countRows(db, INCOMPLETE_ON_POSTGRES)));
}

/** Checks the store of a service that is idle. */
export async function auditAtRest(url: string, countsAreTrue: boolean): Promise<string[]> {
  const damage = await (url.startsWith('sqlite:') ? auditAfterKill(url) : auditPostgres(url));
  if (!countsAreTrue) return damage;
  const counters = await withStore(url, async (db) => [
    ...(await wrongDeliveryCounters(db)),
    ...(await wrongCounters(db)).map((row) => `webhook_counts ${JSON.stringify(row, asText)}`),
  ]);
  return [...damage, ...counters.map((counter) => `a counter differs from what it counts: ${counter}`)];
}

const asText = (_key: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);

function auditPostgres(url: string): Promise<string[]> {
  return withStore(url, async (db) => {
    const violations = incompleteFanOuts(await countRows(db, INCOMPLETE_ON_POSTGRES));
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
      violations.push(`amcheck found: ${error instanceof Error ? error.message : error}`);
    }
    return violations;
  });
}

/** Reads a copy, since opening the store itself would recover what the next start has to recover. */
async function onCopy(file: string, audit: (copy: string) => string[]): Promise<string[]> {
  const folder = mkdtempSync(join(tempBase(), 'paybell-audit-'));
  try {
    for (const end of ['', '-wal']) {
      if (existsSync(file + end)) copyFileSync(file + end, join(folder, `copy.db${end}`));
    }
    return audit(join(folder, 'copy.db'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function auditSqlite(file: string): string[] {
  using copy = new Connection(file, { readwrite: true });
  const integrity = copy.query('pragma integrity_check').all() as { integrity_check: string }[];
  const damage = integrity.filter((row) => row.integrity_check !== 'ok').map((row) => row.integrity_check);
  const { count } = copy.query(INCOMPLETE_ON_SQLITE).get() as { count: number };
  return [...damage.map((what) => `integrity_check found: ${what}`), ...incompleteFanOuts(count)];
}

function incompleteFanOuts(count: number): string[] {
  return count === 0 ? [] : [`${count} events do not have exactly one delivery for each webhook`];
}
