import type { Database, Dialect, Queries } from './database.ts';
import { first } from './migrations/0001-first.ts';
import type { Migration } from './migrations/migration.ts';
import { readInteger } from './sql.ts';

/** Forward only: a released migration is never edited; a later one corrects it. */
export const MIGRATIONS: readonly Migration[] = [first];

const MIGRATION_DEADLINE_MS = 30 * 60_000;

export class SchemaTooNewError extends Error {
  override readonly name = 'SchemaTooNewError';

  constructor(found: number, known: number) {
    super(
      `the store has schema version ${found}, but this release of Paybell knows versions up to ${known}: ` +
        'start the newer release that migrated it, or restore a backup from before the upgrade',
    );
  }
}

/** Thrown for a store of a development version. No such version was released, so its stores are not converted. */
export class DevelopmentStoreError extends Error {
  override readonly name = 'DevelopmentStoreError';

  constructor() {
    super('this store was written by a development version; export its webhooks with that version and import them');
  }
}

/** Applies the missing migrations, all or none, one instance at a time; returns those that it applied. */
export function migrate(db: Database, migrations = MIGRATIONS): Promise<Migration[]> {
  return db.transaction(
    async (queries) => {
      for (const sql of [...db.dialect.allowLongTransaction, ...db.dialect.lockStore]) await queries.run(sql);
      const pending = await findPending(db, queries, migrations);
      if (pending.length === 0) return [];
      for (const sql of db.dialect.bootstrap) await queries.run(sql);
      await queries.run(
        `create table if not exists schema_migrations (
          version bigint primary key,
          name text not null,
          applied_at bigint not null
        )`,
      );
      for (const migration of pending) await apply(queries, db.dialect, migration);
      return pending;
    },
    { deadlineMs: MIGRATION_DEADLINE_MS },
  );
}

export function pendingMigrations(db: Database, migrations = MIGRATIONS): Promise<Migration[]> {
  return findPending(db, db, migrations);
}

async function findPending(
  db: Database,
  queries: Pick<Queries, 'get'>,
  migrations: readonly Migration[],
): Promise<Migration[]> {
  const table = await queries.get(db.dialect.findTable, ['schema_migrations']);
  if (table === undefined) return [...migrations];
  const found = await readInteger(queries, 'max(version)', 'from schema_migrations');
  const known = migrations.at(-1)?.version ?? 0;
  await rejectDevelopmentStore(queries);
  if (found > known) throw new SchemaTooNewError(found, known);
  return migrations.filter((migration) => migration.version > found);
}

/** Throws for the store of a version in development, whose first migration has another name. */
export async function rejectDevelopmentStore(queries: Pick<Queries, 'get'>): Promise<void> {
  const { version, name } = first;
  const stored = await queries.get<{ name: string }>('select name from schema_migrations where version = $1', [
    version,
  ]);
  if (stored !== undefined && stored.name !== name) throw new DevelopmentStoreError();
}

async function apply(queries: Queries, dialect: Dialect, migration: Migration): Promise<void> {
  const { statements } = migration;
  for (const sql of typeof statements === 'function' ? statements(dialect) : statements) await queries.send(sql);
  await queries.send('insert into schema_migrations (version, name, applied_at) values ($1, $2, $3)', [
    migration.version,
    migration.name,
    Math.floor(Date.now() / 1000),
  ]);
}
