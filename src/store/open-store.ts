import { type DatabaseTarget, storeTarget } from '../config/database-target.ts';
import type { Config } from '../config.ts';
import { requireNoCopy } from './copy/unfinished.ts';
import type { Database } from './database/database.ts';
import { type DistributedTable, distribute } from './database/distribution.ts';
import { migrate, pendingMigrations } from './database/migrate.ts';
import type { Migration } from './database/migrations/migration.ts';
import { lockDatabase, openDatabase } from './database/open.ts';
import { makeAhead } from './database/partitions/ahead.ts';
import { partitionTables } from './database/partitions/convert.ts';
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

/** Opens the store with its schema up to date and its secrets readable. Otherwise fails with an error that says what to fix. */
export async function openStore(config: Config, target = storeTarget(config)): Promise<Store> {
  const db = await openDatabase(target);
  try {
    await requireNoCopy(db);
    if (config.AUTO_MIGRATE) await migrateStore(db, target);
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

/**
 * Migrates past a pooler if `target` has the URL of PostgreSQL itself. A pooler keeps connections of the server, whose prepared
 * statements no longer fit a table that a migration has changed.
 */
export function migrateStore(db: Database, target: DatabaseTarget): Promise<Migration[]> {
  return pastPooler(db, target, (direct) => migrate(direct));
}

/** Distributes the tables of a migrated store over the workers of Citus. */
export function distributeStore(db: Database, target: DatabaseTarget): Promise<DistributedTable[]> {
  return pastPooler(db, target, distribute);
}

/** Partitions the large tables of a migrated store by day, and makes the partitions of the next days. */
export function partitionStore(db: Database, target: DatabaseTarget): Promise<Partitioned> {
  return pastPooler(db, target, async (direct) => {
    const isNew = await partitionTables(direct);
    return { isNew, daysMade: await makeAhead(direct, { waitsForDefault: true }) };
  });
}

/** `isNew` is false if the tables were partitioned before. */
export type Partitioned = { readonly isNew: boolean; readonly daysMade: number };

async function pastPooler<Value>(
  db: Database,
  target: DatabaseTarget,
  change: (direct: Database) => Promise<Value>,
): Promise<Value> {
  if (target.engine === 'sqlite' || target.listenUrl === undefined) return change(db);
  const direct = await openDatabase({ engine: target.engine, url: target.listenUrl });
  try {
    return await change(direct);
  } finally {
    await direct.close();
  }
}

/** Opens the store for `serve`. Takes the lock first, because opening a store may migrate it. */
export async function openStoreForServer(config: Config): Promise<Store & { readonly lock: ServerLock }> {
  const lock = lockDatabase(config.DATABASE_URL);
  try {
    return { ...(await openStore(config)), lock };
  } catch (error) {
    lock.release();
    throw error;
  }
}
