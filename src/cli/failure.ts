import { CommanderError } from 'commander';
import { ConfigError } from '../config.ts';
import { Problem } from '../domain/problems.ts';
import { PendingMigrationsError } from '../service.ts';
import { StoreUnavailableError } from '../store/database.ts';
import { SchemaTooNewError } from '../store/migrate.ts';
import { SecretKeyError } from '../store/secret-box.ts';
import { printError } from './output.ts';

export const EXIT = { success: 0, failure: 1, usage: 2 } as const;

/** Something a person did: said in a sentence, without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError';

  constructor(
    message: string,
    readonly exitCode: number = EXIT.failure,
  ) {
    super(message);
  }
}

/** Everything there is to say has been said, line by line; only the exit code is left. */
export class ReportedFailure extends Error {
  override readonly name = 'ReportedFailure';
}

const EXPECTED = [Problem, PendingMigrationsError, SchemaTooNewError, SecretKeyError];

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
    const count = error.faults.length === 1 ? 'one setting is' : `${error.faults.length} settings are`;
    printError(`${count} wrong:`);
    for (const { setting, message } of error.faults) process.stderr.write(`  ${setting} ${message}\n`);
    return EXIT.usage;
  }
  if (error instanceof StoreUnavailableError) {
    printError(`the store does not answer: ${error.message}. Check DATABASE_URL and that the database is up.`);
    return EXIT.failure;
  }
  if (EXPECTED.some((kind) => error instanceof kind)) printError((error as Error).message);
  else printError(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return EXIT.failure;
}
