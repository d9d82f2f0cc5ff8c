import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Config } from '../../config.ts';
import { showBytes } from '../formats/amounts.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { type Finding, fault, ok, warning } from './finding.ts';

const FAULT_BYTES = 64 * 1024 ** 2;
const WARNING_BYTES = 1024 ** 3;
/** Folded into the file at every few megabytes, unless something keeps reading from an old moment. */
const LONG_WAL_BYTES = 256 * 1024 ** 2;

/** Of the machine that the store is on, which only with SQLite is this one. */
export function checkDisk({ DATABASE_URL }: Config): Finding {
  if (DATABASE_URL.engine === 'postgres')
    return ok('disk', 'that of the PostgreSQL server, which cannot be seen from here');
  const folder = nearestFolder(DATABASE_URL.file);
  try {
    accessSync(folder, constants.W_OK);
  } catch {
    return fault(
      'disk',
      `${folder} cannot be written to`,
      `Give it to the user that runs Paybell, or set DATABASE_URL.`,
    );
  }
  const { bavail, bsize } = statfsSync(folder);
  const freeBytes = bavail * bsize;
  const found = `${showBytes(freeBytes)} are free at ${folder}`;
  const mend = `Make room, or shorten RETENTION and run: ${PAYBELL} prune`;
  if (freeBytes < FAULT_BYTES) return fault('disk', found, mend);
  if (freeBytes < WARNING_BYTES) return warning('disk', found, mend);
  const walBytes = statSync(`${DATABASE_URL.file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (walBytes < LONG_WAL_BYTES) return ok('disk', found);
  const open = 'End whatever has the store open and reads for long: it is folded into the file after that.';
  return warning('disk', `the log beside the store has grown to ${showBytes(walBytes)}`, open);
}

/** A store that is not there yet has its folders made when it is. */
function nearestFolder(file: string): string {
  let folder = dirname(resolve(file));
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}
