import type { Command } from 'commander';
import { BackupError, backUpSqlite } from '../../store/database/sqlite/backup.ts';
import { showBytes } from '../formats/amounts.ts';
import { CommandError } from '../terminal/command-error.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { Progress } from '../terminal/progress.ts';
import { readSettings } from './settings.ts';

export function addBackup(program: Command): void {
  program
    .command('backup')
    .description('copy the SQLite store to a file, with its key next to it; safe while the service runs')
    .argument('<file>', 'file to write; the key goes into <file>.key')
    .option('--without-key', 'do not copy the key, if you keep it elsewhere')
    .option('--json', 'print JSON')
    .action(backUp);
}

type BackupOptions = { withoutKey?: boolean; json?: boolean };

/** Does not open the database like the service, which would migrate an older schema first. */
async function backUp(file: string, { withoutKey, json }: BackupOptions): Promise<void> {
  const { DATABASE_URL, SECRET_KEY } = readSettings();
  // Fails, so that a scheduled job does not report a backup that was not made.
  if (DATABASE_URL.engine === 'postgres') throw new CommandError(postgresAdvice(file));
  const progress = new Progress();
  progress.show(null, `copying ${DATABASE_URL.file}`);
  const source = { file: DATABASE_URL.file, secretKey: SECRET_KEY };
  const backup = await backUpSqlite(source, file, withoutKey !== true)
    .catch((error) => {
      throw error instanceof BackupError ? new CommandError(error.message) : error;
    })
    .finally(() => progress.clear());
  if (json) return printJson(backup);
  printLine(`Wrote ${backup.file} (${showBytes(backup.bytes)}).`);
  if (backup.keyFile === null) {
    printLine('The key was not copied: without SECRET_KEY the signing secrets in the backup cannot be read.');
    return;
  }
  printLine(`The key is in ${backup.keyFile}. Keep it apart from the backup, readable only by its owner:`);
  printLine('with both files, anyone can sign requests in your name.');
}

function postgresAdvice(file: string): string {
  return [
    'nothing was written: the database is PostgreSQL. Back it up with',
    `        pg_dump --format=custom --file=${file} "$DATABASE_URL"`,
    '      and restore it into an empty database with',
    `        pg_restore --no-owner --dbname="$DATABASE_URL" ${file}`,
    '      Store SECRET_KEY elsewhere: the backup does not contain it, and nothing else decrypts the signing secrets.',
  ].join('\n');
}
