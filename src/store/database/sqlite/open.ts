import { Database as Connection } from 'bun:sqlite';
import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Database } from '../database.ts';
import { SqliteWriter } from './group-commit.ts';
import { SqliteDatabase } from './sqlite.ts';

/** Waiting within SQLite blocks the event loop, so it is brief, and the writer tries again after a pause. */
const BUSY_TIMEOUT_MS = 20;

export async function openSqlite(file: string): Promise<Database> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  restrictToOwner(file);
  const writer = connect(file);
  requireDurability(writer);
  const reader = connect(file);
  const snapshots = connect(file);
  for (const connection of [reader, snapshots]) connection.exec('pragma query_only = on');
  return new SqliteDatabase(new SqliteWriter(writer), { writer, reader, snapshots });
}

/**
 * Also in a folder that others can read. SQLite gives its further files the mode of the database; those that are there
 * may be from a version that left all of them readable.
 */
function restrictToOwner(file: string): void {
  attempt(() => closeSync(openSync(file, 'wx', 0o600)));
  for (const path of [file, `${file}-wal`, `${file}-shm`]) attempt(() => chmodSync(path, 0o600));
}

/** The file exists or is missing, or belongs to another user. If that matters, SQLite says so when it opens the file. */
function attempt(change: () => void): void {
  try {
    change();
  } catch {}
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
