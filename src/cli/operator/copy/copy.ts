import { type Command, InvalidArgumentError } from 'commander';
import { type DatabaseTarget, databaseTarget, describeTarget, storeTarget } from '../../../config/database-target.ts';
import type { Config } from '../../../config.ts';
import { showCount } from '../../../domain/errors.ts';
import { type Copied, copyStore } from '../../../store/copy/copy.ts';
import { CopySource } from '../../../store/copy/source.ts';
import { CopyError } from '../../../store/copy/unfinished.ts';
import { StoreUnavailableError } from '../../../store/database/database.ts';
import { openDatabase } from '../../../store/database/open.ts';
import { StoreInUseError } from '../../../store/database/sqlite/server-lock.ts';
import { readKeyFile, secretKeyFile } from '../../../store/tenants/key-file.ts';
import { showDuration } from '../../formats/amounts.ts';
import { CommandError } from '../../terminal/command-error.ts';
import { printJson, printLine } from '../../terminal/output.ts';
import { Progress } from '../../terminal/progress.ts';
import { terminal } from '../../terminal/terminal.ts';
import { readSettings } from '../settings.ts';

export function addCopy(program: Command): void {
  program
    .command('copy')
    .description('copy a SQLite store into an empty PostgreSQL database; an interrupted copy continues')
    .requiredOption('--from <url>', 'store to copy, sqlite:<file>; its service has to be stopped', parseSource)
    .requiredOption('--to <url>', 'database to fill, postgres://user:password@host:port/database', parseTarget)
    .option('--json', 'print JSON')
    .action(copy);
}

type Source = Extract<DatabaseTarget, { engine: 'sqlite' }>;
type Target = Extract<DatabaseTarget, { engine: 'postgres' }>;
type CopyOptions = { from: Source; to: Target; json?: boolean };

async function copy({ from, to, json }: CopyOptions): Promise<void> {
  // Uses only the settings of the key and of the connections, and ignores DATABASE_URL.
  const config = readSettings({ ...terminal().env, DATABASE_URL: `sqlite:${from.file}` });
  const key = keyOf(from, config);
  const startedAtMs = performance.now();
  const progress = new Progress();
  const copied = await copyBetween(from, storeTarget({ ...config, DATABASE_URL: to }), key, progress)
    .catch((error) => {
      throw explain(error, from, to);
    })
    .finally(() => progress.clear());
  const durationMs = Math.round(performance.now() - startedAtMs);
  if (json) return printJson({ ...copied, durationMs });
  printCopied(copied, durationMs, to);
  printNextSteps(from, config);
}

/**
 * The key of the source: the setting, otherwise the file. Null if neither exists, so that no secret can be stored yet.
 */
function keyOf({ file }: Source, { SECRET_KEY }: Config): Uint8Array | null {
  return SECRET_KEY ?? readKeyFile(secretKeyFile(file));
}

async function copyBetween(
  from: Source,
  to: DatabaseTarget,
  key: Uint8Array | null,
  progress: Progress,
): Promise<Copied> {
  const source = await CopySource.open(from.file);
  try {
    const db = await openDatabase(to);
    try {
      return await copyStore(source, db, {
        key,
        onProgress: (step, table, rows, total) =>
          progress.show(total === 0 ? null : rows / total, `${rows} of ${total} rows ${step}: ${table}`),
      });
    } finally {
      await db.close();
    }
  } finally {
    source.close();
  }
}

function explain(error: unknown, from: Source, to: Target): unknown {
  if (error instanceof CopyError) return new CommandError(error.message);
  if (error instanceof StoreInUseError) {
    return new CommandError(
      `${error.message}.\n      Stop it first: nothing may change in ${from.file} during the copy.`,
    );
  }
  if (error instanceof StoreUnavailableError) {
    return new CommandError(
      `${describeTarget(to)} or ${from.file} is unavailable: ${error.message}.\n` +
        '      Check --from and --to, and run the command again: a copy that has begun continues where it stopped.',
    );
  }
  return error;
}

function printCopied({ resumed, rows, tables }: Copied, durationMs: number, to: Target): void {
  const what = `${showCount(rows, 'row')} of ${showCount(tables.length, 'table')}`;
  printLine(`Copied ${what} to ${describeTarget(to)} in ${showDuration(durationMs)}${resumed ? ', resumed' : ''}.`);
  printLine('The counts and checksums of both stores are equal.');
}

function printNextSteps({ file }: Source, { SECRET_KEY }: Config): void {
  const key = SECRET_KEY === undefined ? `the key in ${secretKeyFile(file)}` : 'the same key as now';
  printLine();
  printLine('Start the service on PostgreSQL with these settings, the same on every instance:');
  printLine('  DATABASE_URL  the URL that was given as --to');
  printLine(`  SECRET_KEY    ${key}: Paybell cannot decrypt the stored secrets without it`);
  printLine(`Do not start a service on ${file} again: it would send the waiting deliveries a second time.`);
}

function parseSource(text: string): Source {
  const target = databaseTarget(text);
  if (target?.engine === 'sqlite') return target;
  throw new InvalidArgumentError('Give sqlite:<file>, such as sqlite:data/paybell.db.');
}

function parseTarget(text: string): Target {
  const target = databaseTarget(text);
  if (target?.engine === 'postgres') return target;
  throw new InvalidArgumentError('Give postgres://user:password@host:port/database.');
}
