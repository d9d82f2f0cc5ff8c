import type { Database, SqlInteger } from '../database.ts';
import type { PacedBatches } from '../paced-batches.ts';

/** How much the store takes on disk. */
export async function storeBytes(db: Database): Promise<number> {
  const row = await db.get<{ bytes: SqlInteger }>(db.dialect.storeBytes);
  return Number(row?.bytes ?? 0);
}

/**
 * Cuts pages that hold nothing off the SQLite file, a few at a time. PostgreSQL fills what was freed with what comes
 * next, by its autovacuum.
 */
export async function giveBackSpace(db: Database, pace: PacedBatches): Promise<void> {
  if (db.engine !== 'sqlite') return;
  let empty = await emptyPages(db);
  if (empty === 0) return;
  while (empty > 0 && !pace.isStopped) {
    const left = await pace.part(async (pages) => {
      // `all`, since each step of this statement frees one page.
      await db.transaction((queries) => queries.all(`pragma incremental_vacuum(${pages})`));
      return emptyPages(db);
    });
    // A file that was made without incremental auto-vacuum cannot shrink.
    if (left >= empty) break;
    empty = left;
  }
  await db.checkpoint();
}

export async function emptyPages(db: Database): Promise<number> {
  const row = await db.get<{ freelist_count: number }>('pragma freelist_count');
  return row?.freelist_count ?? 0;
}
