import type { RunOptions } from '../fault.ts';

/** The product's default, for trials in which PostgreSQL or a process that may hold locks stands still. */
export const DEFAULT_DATABASE_TIMEOUT = { DATABASE_TIMEOUT: '5s' } as const;

/** For all other trials: in tests the database may be slow, as in all tests. */
export function databaseTimeout({ fast }: RunOptions): Record<string, string> {
  return fast ? {} : DEFAULT_DATABASE_TIMEOUT;
}
