import { CommanderError } from 'commander';
import { ConnectionError, PaybellError, ProblemError, TimeLimitError } from '../client/errors.ts';
import { ConfigError } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { UnfinishedCopyError } from '../store/copy/unfinished.ts';
import { StoreUnavailableError } from '../store/database/database.ts';
import { DistributionError } from '../store/database/distribution.ts';
import { DevelopmentStoreError, SchemaTooNewError } from '../store/database/migrate.ts';
import { PartitionError } from '../store/database/partitions/layout.ts';
import { PoolerError } from '../store/database/postgres/pooler.ts';
import { StoreInUseError } from '../store/database/sqlite/server-lock.ts';
import { PendingMigrationsError } from '../store/open-store.ts';
import { SecretKeyError } from '../store/tenants/secret-box.ts';
import { storeAdvice } from './formats/store-advice.ts';
import { explainClientError } from './server/explain-error.ts';
import { CommandError, EXIT, ReportedFailure } from './terminal/command-error.ts';
import { PAYBELL } from './terminal/invocation.ts';
import { printError, printOnStderr } from './terminal/output.ts';

/** Prints an error as text or as one line of JSON, and returns the exit code. */
export function reportFailure(error: unknown, json: boolean): number {
  if (error instanceof ReportedFailure) return EXIT.failure;
  if (json) printOnStderr(JSON.stringify({ error: describe(error) }));
  // Commander has already printed its own errors.
  else if (!(error instanceof CommanderError)) printError(explain(error));
  return exitCodeOf(error);
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode;
  return error instanceof CommanderError || error instanceof ConfigError ? EXIT.usage : EXIT.failure;
}

/** The output of `--json`. The code is for programs. If the server rejected the request, it is the problem's code. */
function describe(error: unknown): Record<string, unknown> {
  if (error instanceof ProblemError) {
    const { code, detail, status, requestId, errors } = error;
    return { code, message: detail, status, requestId, ...(errors.length > 0 && { errors }) };
  }
  if (error instanceof ConfigError) {
    const errors = error.errors.map(({ setting, message }) => ({ name: setting, message }));
    return { code: 'invalid_settings', message: explain(error).split(':\n')[0], errors };
  }
  const message = error instanceof CommanderError ? error.message.replace(/^error: /, '') : explain(error);
  return { code: codeOf(error), message: message.replace(/\s*\n\s*/g, ' ') };
}

function codeOf(error: unknown): string {
  if (exitCodeOf(error) === EXIT.usage) return 'wrong_usage';
  if (error instanceof DomainError) return error.kind;
  if (error instanceof ConnectionError) return 'connection_failed';
  if (error instanceof TimeLimitError) return 'timed_out';
  if (error instanceof StoreUnavailableError) return 'store_unavailable';
  return 'failed';
}

/** Shows a stack only for unexpected errors. */
function explain(error: unknown): string {
  if (error instanceof PaybellError) return explainClientError(error);
  if (error instanceof ConfigError) {
    const count = error.errors.length === 1 ? 'one setting is' : `${error.errors.length} settings are`;
    return [`${count} invalid:`, ...error.errors.map(({ setting, message }) => `  ${setting} ${message}`)].join('\n');
  }
  if (error instanceof StoreUnavailableError) {
    const prefix = error.reason === 'no_answer' ? 'the store is unavailable: ' : '';
    return `${prefix}${error.message}. ${storeAdvice(error)}`;
  }
  if (error instanceof StoreInUseError) {
    return `${error.message}.\n      Stop it first, or start on another file and port: DATABASE_URL=sqlite:./data/other.db PORT=8081. Several servers can share a store on PostgreSQL.`;
  }
  if (error instanceof PendingMigrationsError) return `${error.message}. Apply them with: ${PAYBELL} migrate`;
  if (
    error instanceof CommandError ||
    error instanceof DevelopmentStoreError ||
    error instanceof DistributionError ||
    error instanceof PartitionError ||
    error instanceof DomainError ||
    error instanceof PoolerError ||
    error instanceof SchemaTooNewError ||
    error instanceof SecretKeyError ||
    error instanceof UnfinishedCopyError
  ) {
    return error.message;
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
