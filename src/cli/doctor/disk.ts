import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Config } from '../../config.ts';
import { showBytes } from '../formats/amounts.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { type Finding, failure, ok, warning } from './finding.ts';

const ERROR_BYTES = 64 * 1024 ** 2;
const WARNING_BYTES = 1024 ** 3;
/** SQLite checkpoints the write-ahead log every few megabytes, unless a long read prevents it. */
const LARGE_WAL_BYTES = 256 * 1024 ** 2;

/** The free space of the SQLite store's disk. The disk of a PostgreSQL server cannot be seen from here. */
export function checkDisk({ DATABASE_URL }: Pick<Config, 'DATABASE_URL'>, freeIn = freeBytesIn): Finding {
  if (DATABASE_URL.engine === 'postgres') {
    return ok('disk', 'not checked: the disk of the PostgreSQL server cannot be seen from here');
  }
  const folder = nearestFolder(DATABASE_URL.file);
  try {
    accessSync(folder, constants.W_OK);
  } catch {
    return failure(
      'disk',
      `${folder} is not writable`,
      'Make it writable for the user that runs Paybell, or set DATABASE_URL.',
    );
  }
  const freeBytes = freeIn(folder);
  const found = `${showBytes(freeBytes)} free in ${folder}`;
  const fix = `Free some space, or shorten RETENTION and run: ${PAYBELL} prune`;
  if (freeBytes < ERROR_BYTES) return failure('disk', found, fix);
  if (freeBytes < WARNING_BYTES) return warning('disk', found, fix);
  const walBytes = statSync(`${DATABASE_URL.file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (walBytes < LARGE_WAL_BYTES) return ok('disk', found);
  const closeReaders = 'Close programs that keep reading from the store; SQLite then shrinks the log.';
  return warning('disk', `the write-ahead log has grown to ${showBytes(walBytes)}`, closeReaders);
}

function freeBytesIn(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** The nearest existing folder, because the first start creates missing folders. */
function nearestFolder(file: string): string {
  let folder = dirname(resolve(file));
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}
