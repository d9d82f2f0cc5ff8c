import { Database as Connection } from 'bun:sqlite';
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';

/**
 * One `serve` at a time works on a SQLite file: it takes over the deliveries that are in flight when it starts, and a second one
 * would send them again. The lock is SQLite's own write lock, on an empty database `<file>.lock` that is never written. The
 * operating system releases it when the process ends, even after a crash, so a lock is never stale. `<file>.pid` only names the
 * process that has the lock. Commands that may run next to a server do not take the lock.
 */
export type ServerLock = { readonly release: () => void };

export class StoreInUseError extends Error {
  override readonly name = 'StoreInUseError';

  constructor(file: string, holder: string | null) {
    super(`another server uses the store ${file}${holder === null ? '' : `: ${holder}`}`);
  }
}

export function lockForServer(file: string): ServerLock {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  // A store that is reached over a symbolic link has the same lock as the file itself.
  const store = existsSync(file) ? realpathSync(file) : file;
  createEmpty(`${store}.lock`);
  const connection = new Connection(`${store}.lock`, { readwrite: true });
  try {
    connection.exec('pragma journal_mode = memory');
    connection.exec('begin immediate');
  } catch (error) {
    connection.close();
    throw isBusy(error) ? new StoreInUseError(file, readHolder(`${store}.pid`)) : error;
  }
  writeHolder(`${store}.pid`);
  return {
    release: () => {
      rmSync(`${store}.pid`, { force: true });
      connection.close();
    },
  };
}

/** Creates the file only if it does not exist, because closing a file drops the locks that this process has on it. */
function createEmpty(lockFile: string): void {
  try {
    writeFileSync(lockFile, '', { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY';
}

/** The lock works without the name of its holder, so a full disk does not keep the server from starting. */
function writeHolder(pidFile: string): void {
  const since = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  try {
    writeFileSync(pidFile, `process ${process.pid} on ${hostname()}, since ${since}\n`, { mode: 0o600 });
  } catch {
    rmSync(pidFile, { force: true });
  }
}

function readHolder(pidFile: string): string | null {
  try {
    return readFileSync(pidFile, 'utf8').trim() || null;
  } catch {
    return null;
  }
}
