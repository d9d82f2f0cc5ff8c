import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { DatabaseTarget } from '../../config/database-target.ts';
import { type Database, StoreUnavailableError } from './database.ts';
import { openPostgres } from './postgres/postgres.ts';
import { openSqlite } from './sqlite/open.ts';
import { lockForServer, type ServerLock } from './sqlite/server-lock.ts';

export async function openDatabase(target: DatabaseTarget): Promise<Database> {
  if (target.engine === 'postgres') {
    return openPostgres(target).catch((error) => {
      throw nameServer(error, target.url);
    });
  }
  return openSqlite(target.file, target.deadlineMs).catch((error) => {
    throw explainFileError(error, target.file);
  });
}

/** Locks nothing on PostgreSQL, because any number of servers may share it. */
export function lockDatabase(target: DatabaseTarget): ServerLock {
  if (target.engine === 'postgres') return { release: () => undefined };
  try {
    return lockForServer(target.file);
  } catch (error) {
    throw explainFileError(error, target.file);
  }
}

/** Adds the host and the port, but no credentials, to the error of a PostgreSQL server that does not answer. */
function nameServer(error: unknown, url: string): unknown {
  if (!(error instanceof StoreUnavailableError) || error.reason !== 'no_answer') return error;
  const message = `${error.message}; DATABASE_URL names ${URL.parse(url)?.host}`;
  return new StoreUnavailableError(message, { cause: error.cause, reason: error.reason });
}

type FileState = { readonly isWritable: boolean; readonly freeBytes: number };

/** SQLite needs a few pages for its shared memory and its log before it can write anything. */
const LEAST_BYTES = 64 * 1024;
const NOT_WRITABLE = /^(EACCES|EPERM|EROFS|SQLITE_READONLY\w*)$/;

/** Turns an error that the operator must fix on the disk or in a folder into one that names the file and the reason. */
export function explainFileError(error: unknown, file: string, state = stateOf(file)): unknown {
  if (error instanceof StoreUnavailableError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!/^(E[A-Z]+|SQLITE_\w+)$/.test(code)) return error;
  if (code === 'ENOSPC' || code === 'SQLITE_FULL' || state.freeBytes < LEAST_BYTES) {
    const message = `the disk is full: cannot write ${file} (${code})`;
    return new StoreUnavailableError(message, { cause: error, reason: 'disk_full' });
  }
  if (NOT_WRITABLE.test(code) || !state.isWritable) {
    const message = `${file} or its folder is not writable (${code})`;
    return new StoreUnavailableError(message, { cause: error, reason: 'read_only' });
  }
  return new StoreUnavailableError(`${file} cannot be opened (${code})`, { cause: error });
}

/** If the folder cannot be examined, for example because it does not exist, the state blames neither permissions nor space. */
function stateOf(file: string): FileState {
  try {
    const folder = dirname(resolve(file));
    const { bavail, bsize } = statfsSync(folder);
    return { isWritable: mayWrite(folder) && (!existsSync(file) || mayWrite(file)), freeBytes: bavail * bsize };
  } catch {
    return { isWritable: true, freeBytes: Number.POSITIVE_INFINITY };
  }
}

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
