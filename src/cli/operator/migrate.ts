import type { Command } from 'commander';
import { migrate } from '../../store/database/migrate.ts';
import { openDatabase } from '../../store/database/open.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { readSettings } from './settings.ts';

export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .description('apply pending schema migrations')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const db = await openDatabase(readSettings().DATABASE_URL);
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
