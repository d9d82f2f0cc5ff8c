import type { Config } from '../config.ts';
import type { Database } from './database/database.ts';
import { migrate, pendingMigrations } from './database/migrate.ts';
import type { Migration } from './database/migrations/migration.ts';
import { lockDatabase, openDatabase } from './database/open.ts';
import type { ServerLock } from './database/sqlite/server-lock.ts';
import type { SecretBox } from './tenants/secret-box.ts';
import { openSecretBox } from './tenants/secret-key.ts';

export type Store = { readonly db: Database; readonly box: SecretBox };

export class PendingMigrationsError extends Error {
  override readonly name = 'PendingMigrationsError';

  constructor(pending: readonly Migration[]) {
    const names = pending.map(({ version, name }) => `${version} (${name})`).join(', ');
    super(`AUTO_MIGRATE is false and the store lacks migrations: ${names}`);
  }
}

/** The store with its schema up to date and its secrets readable, or an error that says what to fix. */
export async function openStore(config: Config): Promise<Store> {
  const db = await openDatabase(config.DATABASE_URL);
  try {
    if (config.AUTO_MIGRATE) await migrate(db);
    else {
      const pending = await pendingMigrations(db);
      if (pending.length > 0) throw new PendingMigrationsError(pending);
    }
    return { db, box: await openSecretBox(db, config) };
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** For `serve`. The lock comes first, because opening a store may migrate it. */
export async function openStoreForServer(config: Config): Promise<Store & { readonly lock: ServerLock }> {
  const lock = lockDatabase(config.DATABASE_URL);
  try {
    return { ...(await openStore(config)), lock };
  } catch (error) {
    lock.release();
    throw error;
  }
}
