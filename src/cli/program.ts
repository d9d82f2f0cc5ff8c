import { Command } from 'commander';
import { version } from '../version.ts';
import { addDoctor } from './doctor.ts';
import { EXIT } from './failure.ts';
import { PAYBELL } from './invocation.ts';
import { addListen } from './listen/listen.ts';
import { addOperatorExamples } from './operator-examples.ts';
import { addReady } from './ready.ts';
import { addDeliveries } from './remote/deliveries.ts';
import { addEvents } from './remote/events.ts';
import { addLogin } from './remote/login.ts';
import { addPlay } from './remote/play.ts';
import { addSecrets } from './remote/secrets.ts';
import { addTail } from './remote/tail.ts';
import { addWebhooks } from './remote/webhooks.ts';
import { reportFailure } from './report-failure.ts';
import { addServe } from './serve.ts';
import { addAudit } from './store/audit.ts';
import { addBackup } from './store/backup.ts';
import { addEntities } from './store/entities.ts';
import { addExport } from './store/export.ts';
import { addImport } from './store/import.ts';
import { addKeys } from './store/keys.ts';
import { addMigrate } from './store/migrate.ts';
import { addPrune } from './store/prune.ts';
import { addStore } from './store/store.ts';

/** In the order in which the help lists them: what a command works on is the first thing to know about it. */
const GROUPS = {
  'Run the service:': [addServe, addDoctor, addReady],
  'Speak to a server, by PAYBELL_URL and a key or by what login stored:': [
    addLogin,
    addWebhooks,
    addEvents,
    addDeliveries,
    addSecrets,
    addTail,
    addPlay,
  ],
  'Receive on this machine:': [addListen],
  'Operate its store, by DATABASE_URL; no server and no key are needed:': [
    addEntities,
    addKeys,
    addAudit,
    addImport,
    addExport,
    addMigrate,
    addBackup,
    addPrune,
    addStore,
  ],
};

/** Runs one command and answers the exit code: 0 success, 1 failure, 2 wrong usage or settings. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    const program = createProgram();
    await program.parseAsync(leadsNowhere(program, args) ? withoutHelp(args) : args, { from: 'user' });
    return EXIT.success;
  } catch (error) {
    return reportFailure(error);
  }
}

export function createProgram(): Command {
  // Settings that subcommands inherit have to be made before the subcommands are added.
  const program = new Command(PAYBELL)
    .description('Webhooks for crypto payments')
    .version(version)
    .exitOverride()
    .showHelpAfterError('(add --help for the options)')
    .showSuggestionAfterError();
  for (const [heading, commands] of Object.entries(GROUPS)) {
    program.commandsGroup(heading);
    for (const add of commands) add(program);
  }
  addOperatorExamples(program);
  return program.commandsGroup('Help:').helpCommand('help [command]', 'show the help of a command');
}

/** Whether the words before any option name a command that there is not. */
function leadsNowhere(program: Command, args: readonly string[]): boolean {
  let command = program;
  for (const word of args) {
    if (word.startsWith('-') || command.commands.length === 0) return false;
    const next = command.commands.find((candidate) => candidate.name() === word);
    if (next === undefined) return word !== 'help';
    command = next;
  }
  return false;
}

/** Asked for the help of a command that there is not, Commander would show another's and call it a success. */
function withoutHelp(args: readonly string[]): string[] {
  return args.filter((word) => word !== '--help' && word !== '-h');
}
