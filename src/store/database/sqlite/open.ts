import type { Database as Connection } from 'bun:sqlite';
import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Database, STORE_DEADLINE_MS } from '../database.ts';
import { openReader, openWriter } from './connect.ts';
import { TickBudget } from './connection-queries.ts';
import { SqliteWriter } from './group-commit.ts';
import { SqliteDatabase } from './sqlite.ts';
import { StoreThread } from './thread.ts';

export async function openSqlite(file: string, deadlineMs = STORE_DEADLINE_MS): Promise<Database> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  restrictToOwner(file);
  const writer = openWriter(file);
  requireDurability(writer);
  const reader = openReader(file);
  const snapshots = openReader(file);
  const budget = new TickBudget();
  const thread = new StoreThread(file, { deadlineMs });
  const connections = { writer, reader, snapshots };
  return new SqliteDatabase(new SqliteWriter(writer, budget), connections, budget, thread, deadlineMs);
}

/**
 * Restricts the files to their owner, even in a folder that others can read. SQLite gives new files the mode of the database
 * file. Existing files may be from a version that left them readable by every user.
 */
function restrictToOwner(file: string): void {
  attempt(() => closeSync(openSync(file, 'wx', 0o600)));
  for (const path of [file, `${file}-wal`, `${file}-shm`]) attempt(() => chmodSync(path, 0o600));
}

/** Ignores errors: the file may exist, be missing or belong to another user. If that matters, SQLite reports it when it opens the file. */
function attempt(change: () => void): void {
  try {
    change();
  } catch {}
}

/**
 * Requires WAL with synchronous=FULL. With less, a power failure may undo acknowledged commits, which no test that kills a
 * process can show.
 */
function requireDurability(connection: Connection): void {
  const journal = connection.query('pragma journal_mode').get() as { journal_mode: string };
  const synchronous = connection.query('pragma synchronous').get() as { synchronous: number };
  if (journal.journal_mode === 'wal' && synchronous.synchronous === 2) return;
  throw new Error('this file system does not let SQLite use WAL with synchronous=FULL; put the store on a local disk');
}
