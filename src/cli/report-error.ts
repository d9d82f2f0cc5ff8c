import { CommanderError } from 'commander';
import { PaybellError } from '../client/errors.ts';
import { ConfigError } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { StoreUnavailableError } from '../store/database/database.ts';
import { SchemaTooNewError } from '../store/database/migrate.ts';
import { StoreInUseError } from '../store/database/sqlite/server-lock.ts';
import { PendingMigrationsError } from '../store/open-store.ts';
import { SecretKeyError } from '../store/tenants/secret-box.ts';
import { explainClientError } from './server/explain-error.ts';
import { CommandError, EXIT, ReportedFailure } from './terminal/command-error.ts';
import { PAYBELL } from './terminal/invocation.ts';
import { printError } from './terminal/output.ts';

/** Prints what went wrong and returns the exit code. */
export function reportFailure(error: unknown): number {
  // Commander has printed its own message already.
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
  printError(explain(error));
  return EXIT.failure;
}

/** A stack is printed only for errors that are not expected. */
function explain(error: unknown): string {
  if (error instanceof PaybellError) return explainClientError(error);
  if (error instanceof StoreUnavailableError) {
    return `the store is unavailable: ${error.message}. Check DATABASE_URL, and that the database is running.`;
  }
  if (error instanceof StoreInUseError) {
    return `${error.message}.\n      Stop it first, or set DATABASE_URL to another file. Several servers can share a store on PostgreSQL.`;
  }
  if (error instanceof PendingMigrationsError) return `${error.message}. Apply them with: ${PAYBELL} migrate`;
  if (error instanceof DomainError || error instanceof SchemaTooNewError || error instanceof SecretKeyError) {
    return error.message;
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
