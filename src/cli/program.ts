import { Command } from 'commander';
import { version } from '../version.ts';
import { addChain } from './chain/chain.ts';
import { addDoctor } from './doctor/doctor.ts';
import { addListen } from './listen/listen.ts';
import { addVerify } from './listen/verify.ts';
import { addAudit } from './operator/audit.ts';
import { addBackup } from './operator/backup.ts';
import { addEntities } from './operator/entities.ts';
import { addOperatorExamples } from './operator/examples.ts';
import { addExport } from './operator/export.ts';
import { addImport } from './operator/import.ts';
import { addKeys } from './operator/keys.ts';
import { addMigrate } from './operator/migrate.ts';
import { addPrune } from './operator/prune.ts';
import { addReady } from './operator/ready.ts';
import { addServe } from './operator/serve.ts';
import { addStore } from './operator/store/store.ts';
import { addPlay } from './play/play.ts';
import { reportFailure } from './report-error.ts';
import { addFacts } from './server/chain/facts.ts';
import { addSources } from './server/chain/sources.ts';
import { addDeliveries } from './server/deliveries.ts';
import { addEndpoints } from './server/endpoints.ts';
import { addEvents } from './server/events.ts';
import { addLogin } from './server/login.ts';
import { addSecrets } from './server/secrets.ts';
import { addStats } from './server/stats.ts';
import { addTail } from './server/tail.ts';
import { addWebhooks } from './server/webhooks/webhooks.ts';
import { EXIT } from './terminal/command-error.ts';
import { PAYBELL } from './terminal/invocation.ts';

/** The commands by what they work on, in the order of the help. */
const GROUPS = {
  'Run the service:': [addServe, addDoctor, addReady],
  'Call a server, with PAYBELL_URL and a key or with a profile that login stored:': [
    addLogin,
    addWebhooks,
    addEndpoints,
    addEvents,
    addDeliveries,
    addSources,
    addFacts,
    addChain,
    addSecrets,
    addStats,
    addTail,
    addPlay,
  ],
  'Receive on this machine:': [addListen, addVerify],
  'Operate the store, with DATABASE_URL; these need no server and no key:': [
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

/** Runs one command and returns the exit code: 0 for success, 1 for failure, 2 for wrong usage or settings. */
export async function run(args: readonly string[]): Promise<number> {
  const json = wantsJson(args);
  try {
    const program = createProgram({ quiet: json });
    await program.parseAsync(isUnknownCommand(program, args) ? withoutHelp(args) : args, { from: 'user' });
    return EXIT.success;
  } catch (error) {
    return reportFailure(error, json);
  }
}

/** `quiet` leaves it to the caller to report wrong usage. */
export function createProgram({ quiet = false }: { quiet?: boolean } = {}): Command {
  // Subcommands inherit only what is configured before they are added.
  const program = new Command(PAYBELL)
    .configureOutput(quiet ? { writeErr: () => undefined } : {})
    .description('Webhooks for crypto payments')
    .version(version)
    .exitOverride()
    .showHelpAfterError('(see --help)')
    .showSuggestionAfterError();
  for (const [heading, commands] of Object.entries(GROUPS)) {
    program.commandsGroup(heading);
    for (const add of commands) add(program);
  }
  addOperatorExamples(program);
  return program.commandsGroup('Help:').helpCommand('help [command]', 'show the help of a command');
}

/** Read before the arguments are parsed, because that may be what fails. */
function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return (end === -1 ? args : args.slice(0, end)).includes('--json');
}

function isUnknownCommand(program: Command, args: readonly string[]): boolean {
  let command = program;
  for (const word of args) {
    if (word.startsWith('-') || command.commands.length === 0) return false;
    const next = command.commands.find((candidate) => candidate.name() === word);
    if (next === undefined) return word !== 'help';
    command = next;
  }
  return false;
}

/** For an unknown command with --help, Commander would show the parent's help and exit with 0. */
function withoutHelp(args: readonly string[]): string[] {
  return args.filter((word) => word !== '--help' && word !== '-h');
}
