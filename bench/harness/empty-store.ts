import type { Engine } from '../../test/support/stores.ts';
import { createPostgresDatabase } from './postgres.ts';
import { tempFolder } from './processes.ts';

/** The URL of a store that does not exist yet, or of an empty database. */
export async function emptyStore(engine: Engine): Promise<string> {
  return engine === 'postgres' ? createPostgresDatabase() : `sqlite:${tempFolder()}/paybell.db`;
}
