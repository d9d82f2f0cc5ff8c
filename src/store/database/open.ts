import type { DatabaseTarget } from '../../config.ts';
import { type Database, StoreUnavailableError } from './database.ts';
import { openPostgres } from './postgres/postgres.ts';
import { openSqlite } from './sqlite/open.ts';
import { lockForServer, type ServerLock } from './sqlite/server-lock.ts';

export async function openDatabase(target: DatabaseTarget): Promise<Database> {
  if (target.engine === 'postgres') return openPostgres(target);
  return openSqlite(target.file, target.deadlineMs).catch((error) => {
    throw explainFileError(error, target.file);
  });
}

/** PostgreSQL serves any number of servers. */
export function lockDatabase(target: DatabaseTarget): ServerLock {
  if (target.engine === 'postgres') return { release: () => undefined };
  try {
    return lockForServer(target.file);
  } catch (error) {
    throw explainFileError(error, target.file);
  }
}

/** The operator has to fix a folder that is missing or not writable: the error names the file and has no stack. */
function explainFileError(error: unknown, file: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!/^(E[A-Z]+|SQLITE_\w+)$/.test(code)) return error;
  return new StoreUnavailableError(`${file} cannot be opened (${code})`, { cause: error });
}
