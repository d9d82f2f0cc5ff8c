import type { Command } from 'commander';
import { commandTarget, type DatabaseTarget } from '../../config/database-target.ts';
import type { Database } from '../../store/database/database.ts';
import type { DistributedTable } from '../../store/database/distribution.ts';
import { openDatabase } from '../../store/database/open.ts';
import { PARTITIONED_TABLES, PartitionError, readLayout } from '../../store/database/partitions/layout.ts';
import { readInstances } from '../../store/instances.ts';
import { distributeStore, migrateStore, partitionStore } from '../../store/open-store.ts';
import { CommandError } from '../terminal/command-error.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { readSettings } from './settings.ts';

type Options = { json?: boolean; distribute?: boolean; partition?: boolean };

export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .description('apply pending schema migrations')
    .option('--distribute', 'then distribute the tables over the workers of Citus; safe to repeat')
    .option('--partition', 'then partition the large tables of PostgreSQL by day; safe to repeat')
    .option('--json', 'print JSON')
    .action(async ({ json, distribute, partition }: Options) => {
      const target = commandTarget(readSettings());
      const db = await openDatabase(target);
      try {
        const applied = (await migrateStore(db, target)).map(({ version, name }) => ({ version, name }));
        if (!json) {
          if (applied.length === 0) printLine('The schema is up to date.');
          for (const { version, name } of applied) printLine(`Applied ${version}: ${name}`);
        }
        const tables = distribute ? await distributeTables(db, target) : null;
        const partitioned = partition ? await partitionStore(db, target) : null;
        if (json) {
          return printJson({
            applied,
            ...(tables !== null && { tables }),
            ...(partitioned !== null && { partitioned }),
          });
        }
        for (const { table, distribution, isNew } of tables ?? []) {
          printLine(`${isNew ? 'Distributed' : 'Unchanged'}: ${table} (${distribution})`);
        }
        if (partitioned !== null) {
          printLine(`${partitioned.isNew ? 'Partitioned by day' : 'Unchanged'}: ${PARTITIONED_TABLES.join(', ')}`);
          printLine(`Partitions made: ${partitioned.daysMade === 0 ? 'none' : `${partitioned.daysMade} days`}`);
        }
      } finally {
        await db.close();
      }
    });
}

/**
 * Requires that no instance runs. A process looks for distributed tables only at its start, and a running one would
 * keep using statements for one server.
 */
async function distributeTables(db: Database, target: DatabaseTarget): Promise<DistributedTable[]> {
  if ((await readLayout(db)).isPartitioned) {
    throw new PartitionError('Cannot distribute tables that are partitioned by day: this was never tested on Citus');
  }
  const running = await readInstances(db);
  if (running.length > 0) {
    const hosts = running.map(({ host }) => host).join(', ');
    throw new CommandError(`Stop every instance before the tables are distributed. Running: ${hosts}`);
  }
  return distributeStore(db, target);
}
