import type { Command } from 'commander';
import { loadConfig } from '../../config.ts';
import { BackupError, backUpSqlite } from '../../store/database/sqlite/backup.ts';
import { showBytes } from '../formats/amounts.ts';
import { CommandError } from '../terminal/command-error.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { Progress } from '../terminal/progress.ts';

export function addBackup(program: Command): void {
  program
    .command('backup')
    .description('copy the SQLite store as it is at this moment, while it serves, and its key beside it')
    .argument('<file>', 'file to write; the key goes into <file>.key')
    .option('--without-key', 'leave the key out, where you keep it elsewhere')
    .option('--json', 'print JSON')
    .action(backUp);
}

type BackupOptions = { withoutKey?: boolean; json?: boolean };

/** Never through the service's own way of opening a store, which would first bring an older schema up to date. */
async function backUp(file: string, { withoutKey, json }: BackupOptions): Promise<void> {
  const { DATABASE_URL, SECRET_KEY } = loadConfig(process.env);
  // A failure, so that no schedule takes a backup for made that was not.
  if (DATABASE_URL.engine === 'postgres') throw new CommandError(postgresAdvice(file));
  const progress = new Progress();
  progress.show(null, `copying ${DATABASE_URL.file}`);
  const source = { file: DATABASE_URL.file, secretKey: SECRET_KEY };
  const made = await backUpSqlite(source, file, withoutKey !== true)
    .catch((error) => {
      throw error instanceof BackupError ? new CommandError(error.message) : error;
    })
    .finally(() => progress.clear());
  if (json) return printJson(made);
  printLine(`Wrote ${made.file} (${showBytes(made.bytes)}).`);
  if (made.keyFile === null) {
    printLine('Its key is not beside it: without SECRET_KEY the signing secrets in it are lost.');
    return;
  }
  printLine(`Its key is in ${made.keyFile}: whoever has both can sign in your name.`);
  printLine('Keep the key apart from the copy, readable by its owner alone.');
}

function postgresAdvice(file: string): string {
  return `the store is PostgreSQL, whose own tools copy it while it serves; nothing was written. Use
        pg_dump --format=custom --file=${file} "$DATABASE_URL"
      and restore into an empty database with
        pg_restore --no-owner --dbname="$DATABASE_URL" ${file}
      SECRET_KEY is not in it: keep it, apart from the copy, or the signing secrets in it are lost.`;
}
