import { CommanderError } from 'commander';
import { PaybellError } from '../client/errors.ts';
import { ConfigError } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { StoreUnavailableError } from '../store/database/database.ts';
import { SchemaTooNewError } from '../store/database/migrate.ts';
import { PendingMigrationsError } from '../store/open-store.ts';
import { SecretKeyError } from '../store/tenants/secret-box.ts';
import { explainRefusal } from './server/explain-problem.ts';
import { CommandError, EXIT, ReportedFailure } from './terminal/command-error.ts';
import { PAYBELL } from './terminal/invocation.ts';
import { printError } from './terminal/output.ts';

const EXPECTED = [DomainError, SchemaTooNewError, SecretKeyError];

/** Says what went wrong and answers the exit code. */
export function reportFailure(error: unknown): number {
  // Commander has printed its own message by now.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.success : EXIT.usage;
  if (error instanceof ReportedFailure) return EXIT.failure;
  if (error instanceof CommandError) {
    printError(error.message);
    return error.exitCode;
  }
  if (error instanceof ConfigError) {
    const count = error.errors.length === 1 ? 'one setting is' : `${error.errors.length} settings are`;
    printError(`${count} invalid:`);
    for (const { setting, message } of error.errors) process.stderr.write(`  ${setting} ${message}\n`);
    return EXIT.usage;
  }
  printError(wordsFor(error));
  return EXIT.failure;
}

function wordsFor(error: unknown): string {
  if (error instanceof PaybellError) return explainRefusal(error);
  if (error instanceof StoreUnavailableError) {
    return `the store does not answer: ${error.message}. Check DATABASE_URL and that the database is up.`;
  }
  if (error instanceof PendingMigrationsError) return `${error.message}. Apply them with: ${PAYBELL} migrate`;
  if (EXPECTED.some((kind) => error instanceof kind)) return (error as Error).message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
