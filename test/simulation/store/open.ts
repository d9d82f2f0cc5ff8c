import type { Job } from '../job.ts';
import { type OpenedStore, openSqliteStore } from './sqlite.ts';

/** A new store on an engine. */
export async function openStoreFor(engine: Job['engine']): Promise<OpenedStore> {
  if (engine === 'sqlite') return openSqliteStore();
  const { openPostgresStore } = await import('./postgres.ts');
  return openPostgresStore();
}
