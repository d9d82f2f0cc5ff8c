import { Command } from 'commander';
import { version } from '../version.ts';
import { addAudit } from './audit.ts';
import { addEntities } from './entities.ts';
import { addExport } from './export.ts';
import { EXIT, reportFailure } from './failure.ts';
import { addImport } from './import.ts';
import { addKeys } from './keys.ts';
import { addMigrate } from './migrate.ts';
import { addSecrets } from './secrets.ts';
import { addServe } from './serve.ts';

/** Runs one command and answers the exit code: 0 success, 1 failure, 2 wrong usage or settings. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(args, { from: 'user' });
    return EXIT.success;
  } catch (error) {
    return reportFailure(error);
  }
}

function createProgram(): Command {
  // Settings that subcommands inherit have to be made before the subcommands are added.
  const program = new Command('paybell')
    .description('Webhooks for crypto payments')
    .version(version)
    .exitOverride()
    .showHelpAfterError('(add --help for the options)')
    .showSuggestionAfterError();
  for (const add of [addServe, addMigrate, addEntities, addKeys, addSecrets, addAudit, addImport, addExport])
    add(program);
  return program;
}
