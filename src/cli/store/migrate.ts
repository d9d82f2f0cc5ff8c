import type { Command } from 'commander';
import { loadConfig } from '../../config.ts';
import { migrate } from '../../store/migrate.ts';
import { openDatabase } from '../../store/open-database.ts';
import { printJson, printLine } from '../output.ts';

export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .description('bring the schema of the store up to date')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const db = await openDatabase(loadConfig(process.env).DATABASE_URL);
      try {
        const applied = (await migrate(db)).map(({ version, name }) => ({ version, name }));
        if (json) return printJson({ applied });
        if (applied.length === 0) printLine('The schema is up to date.');
        for (const { version, name } of applied) printLine(`Applied ${version}: ${name}`);
      } finally {
        await db.close();
      }
    });
}
