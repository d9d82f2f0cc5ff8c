import { Database } from 'bun:sqlite';
import { readFileSync } from 'node:fs';

/**
 * Preloaded into `paybell serve` where no small file system can be mounted: SQLite itself refuses to grow past the number
 * of pages in a file, and answers SQLITE_FULL as on a full disk. Nothing of the product knows of it.
 */

const file = process.env.FAULTS_PAGE_LIMIT_FILE ?? '';
const exec = Database.prototype.exec;

Database.prototype.exec = function limited(this: Database, sql: string, ...rest: never[]) {
  if (sql === 'begin immediate') exec.call(this, `pragma max_page_count = ${Number(readFileSync(file, 'utf8'))}`);
  return exec.call(this, sql, ...rest);
};
