import { Database } from 'bun:sqlite';
import { readFileSync } from 'node:fs';

/**
 * Preloaded into `paybell serve` where no small file system can be mounted: limits the database to the number of pages in a
 * file, beyond which SQLite returns SQLITE_FULL as on a full disk. The service itself is unchanged.
 */

const file = process.env.FAULTS_PAGE_LIMIT_FILE ?? '';
const exec = Database.prototype.exec;

Database.prototype.exec = function limited(this: Database, sql: string, ...rest: never[]) {
  if (sql === 'begin immediate') exec.call(this, `pragma max_page_count = ${Number(readFileSync(file, 'utf8'))}`);
  return exec.call(this, sql, ...rest);
};
