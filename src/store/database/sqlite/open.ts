import { Database as Connection } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Database, Dialect } from '../database.ts';
import { SqliteWriter } from './group-commit.ts';
import { SqliteDatabase } from './sqlite.ts';

const dialect: Dialect = {
  uuid: 'blob',
  bindUuid: (hex) => Uint8Array.fromHex(hex),
  hexOf: (uuid) => (uuid as Uint8Array).toHex(),
  uuidFromHex: (expression) => `unhex(${expression})`,
  timeOfUuid: (expression) =>
    `(${Array.from({ length: 12 }, (_, digit) => `((instr('0123456789ABCDEF', substr(hex(${expression}), ${digit + 1}, 1)) - 1) << ${44 - 4 * digit})`).join(' + ')})`,
  storage: { clustered: 'without rowid', updatedInPlace: 'without rowid' },
  bootstrap: [],
  // `begin immediate` takes the only write lock.
  lockStore: [],
  allowLongTransaction: [],
  lockSecrets: [],
  nowMs: `cast(unixepoch('subsec') * 1000 as integer)`,
  lockRow: '',
  skipLocked: '',
  planForClaims: `select cast(unixepoch('subsec') * 1000 as integer) as now_ms`,
  lookUp: (join, table, alias, key) => {
    const conditions = Object.entries(key).map(([column, value]) => `${alias}.${column} = ${value}`);
    return `${join} ${table} ${alias} on ${conditions.join(' and ')}`;
  },
  rowsOf: (table, list, key) => ({
    from: list,
    where: key.map((column) => `${table}.${column} = ${list}.${column}`).join(' and '),
  }),
  findTable: `select name from sqlite_master where type = 'table' and name = $1`,
  storeBytes: '(select page_count * page_size from pragma_page_count(), pragma_page_size())',
};

/** Waiting within SQLite blocks the event loop, so it is brief, and the writer tries again after a pause. */
const BUSY_TIMEOUT_MS = 20;

export async function openSqlite(file: string): Promise<Database> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const writer = connect(file);
  requireDurability(writer);
  const reader = connect(file);
  const snapshots = connect(file);
  for (const connection of [reader, snapshots]) connection.exec('pragma query_only = on');
  return new SqliteDatabase(dialect, new SqliteWriter(writer), { writer, reader, snapshots });
}

function connect(file: string): Connection {
  const connection = new Connection(file, { create: true, readwrite: true });
  connection.exec('pragma busy_timeout = 5000');
  // Auto-vacuum can be turned on only before the first page is written, and so before WAL.
  connection.exec('pragma auto_vacuum = incremental');
  connection.exec('pragma journal_mode = wal');
  connection.exec('pragma synchronous = full');
  connection.exec('pragma foreign_keys = on');
  connection.exec('pragma temp_store = memory');
  connection.exec('pragma cache_size = -16000');
  // In pages: four times the default, because a page that was written several times is then copied once.
  connection.exec('pragma wal_autocheckpoint = 4000');
  connection.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
  return connection;
}

/** With less than FULL, a power failure may undo acknowledged commits, which no test that kills a process can show. */
function requireDurability(connection: Connection): void {
  const journal = connection.query('pragma journal_mode').get() as { journal_mode: string };
  const synchronous = connection.query('pragma synchronous').get() as { synchronous: number };
  if (journal.journal_mode === 'wal' && synchronous.synchronous === 2) return;
  throw new Error('this file system does not let SQLite use WAL with synchronous=FULL; put the store on a local disk');
}
