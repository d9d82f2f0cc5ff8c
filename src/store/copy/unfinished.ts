import type { Database } from '../database/database.ts';

/** The store was not copied, or not entirely; the message says what to do. */
export class CopyError extends Error {
  override readonly name = 'CopyError';
}

/** The store is the target of a copy that has not ended. */
export class UnfinishedCopyError extends Error {
  override readonly name = 'UnfinishedCopyError';

  constructor() {
    super(
      'a copy into this store has not ended, and the store is incomplete: run the same paybell copy again, which continues ' +
        'where it stopped, or empty the database',
    );
  }
}

/** How far a copy has come. The table is in the target while the copy is unfinished, and at no other time. */
export const PROGRESS_TABLE = 'store_copy';

/** Fails if the store is the target of an unfinished copy. Runs once, when a store is opened. */
export async function requireNoCopy(db: Database): Promise<void> {
  if ((await db.get(db.dialect.findTable, [PROGRESS_TABLE])) !== undefined) throw new UnfinishedCopyError();
}
