import type { Database } from '../database.ts';
import type { PacedBatches } from '../paced-batches.ts';
import { readInteger } from '../sql.ts';

/** The size of the store on disk. */
export function storeBytes(db: Database): Promise<number> {
  return readInteger(db, db.dialect.storeBytes);
}

/**
 * Truncates empty pages from the SQLite file, a few at a time. On PostgreSQL, autovacuum makes freed space available to
 * new rows.
 */
export async function shrinkFile(db: Database, batches: PacedBatches): Promise<void> {
  if (db.engine !== 'sqlite') return;
  let empty = await emptyPages(db);
  if (empty === 0) return;
  while (empty > 0 && !batches.isStopped) {
    const left = await batches.run(async (pages) => {
      // `all` runs every step of this statement, and each step frees one page.
      await db.transaction((queries) => queries.all(`pragma incremental_vacuum(${pages})`));
      return emptyPages(db);
    });
    // A file that was created without incremental auto-vacuum cannot shrink.
    if (left >= empty) break;
    empty = left;
  }
  await db.checkpoint();
}

export async function emptyPages(db: Database): Promise<number> {
  const row = await db.get<{ freelist_count: number }>('pragma freelist_count');
  return row?.freelist_count ?? 0;
}
