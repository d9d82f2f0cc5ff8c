import type { Database, Dialect, Queries } from './database.ts';
import { queue } from './migrations/0007-queue.ts';
import { signingKeys } from './migrations/0008-signing-keys.ts';
import { endpoints } from './migrations/0009-endpoints.ts';
import { chain } from './migrations/0010-chain.ts';
import { findingDeliveries } from './migrations/0011-finding-deliveries.ts';
import { attention } from './migrations/0012-attention.ts';
import { cheapReads } from './migrations/0013-cheap-reads.ts';
import { clientCertificates } from './migrations/0014-client-certificates.ts';
import { listIndexes } from './migrations/0015-list-indexes.ts';
import { haltAlerts } from './migrations/0016-halt-alerts.ts';
import { forgottenDeliveries } from './migrations/0017-forgotten-deliveries.ts';
import { webhooks } from './migrations/first-release/0001-webhooks.ts';
import { secretsAndAudit } from './migrations/first-release/0002-secrets-and-audit.ts';
import { deliveries } from './migrations/first-release/0003-deliveries.ts';
import { seeingDeliveries } from './migrations/first-release/0004-seeing-deliveries.ts';
import { stats } from './migrations/first-release/0005-stats.ts';
import { deliveryKinds } from './migrations/first-release/0006-delivery-kinds.ts';
import type { Migration } from './migrations/migration.ts';
import { readInteger } from './sql.ts';

/** Forward only: a released migration is never edited; a later one corrects it. */
export const MIGRATIONS: readonly Migration[] = [
  webhooks,
  secretsAndAudit,
  deliveries,
  seeingDeliveries,
  stats,
  deliveryKinds,
  queue,
  signingKeys,
  endpoints,
  chain,
  findingDeliveries,
  attention,
  cheapReads,
  clientCertificates,
  listIndexes,
  haltAlerts,
  forgottenDeliveries,
];

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
  if (found > known) throw new SchemaTooNewError(found, known);
  return migrations.filter((migration) => migration.version > found);
}

async function apply(queries: Queries, dialect: Dialect, migration: Migration): Promise<void> {
  const { statements, convert } = migration;
  for (const sql of typeof statements === 'function' ? statements(dialect) : statements) await queries.send(sql);
  await convert?.(queries, dialect);
  await queries.send('insert into schema_migrations (version, name, applied_at) values ($1, $2, $3)', [
    migration.version,
    migration.name,
    Math.floor(Date.now() / 1000),
  ]);
}
