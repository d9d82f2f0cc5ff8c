import { Command } from 'commander';
import { version } from '../version.ts';
import { addAudit } from './audit.ts';
import { addBackup } from './backup.ts';
import { addDeliveries } from './deliveries.ts';
import { addDoctor } from './doctor.ts';
import { addEntities } from './entities.ts';
import { addExport } from './export.ts';
import { EXIT, reportFailure } from './failure.ts';
import { addImport } from './import.ts';
import { addKeys } from './keys.ts';
import { addMigrate } from './migrate.ts';
import { addPrune } from './prune.ts';
import { addSecrets } from './secrets.ts';
import { addServe } from './serve.ts';

/** In the order in which the help lists them. */
const COMMANDS = [
  addServe,
  addMigrate,
  addEntities,
  addKeys,
  addSecrets,
  addDeliveries,
  addAudit,
  addImport,
  addExport,
  addDoctor,
  addBackup,
  addPrune,
];

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
  for (const add of COMMANDS) add(program);
  return program;
}
