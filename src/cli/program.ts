import { Command, CommanderError } from 'commander';
import { version } from '../version.ts';
import { addOperatorExamples } from './operator/examples.ts';
import { EXIT } from './terminal/command-error.ts';
import { PAYBELL } from './terminal/invocation.ts';
import { showsColour } from './terminal/output.ts';
import { type Output, onTerminal, type Terminal, terminal } from './terminal/terminal.ts';

type AddCommand = (program: Command) => void;

/**
 * The commands, grouped by the thing that they work on, in the order of the help. Each is loaded when it is needed, so
 * that a command starts without the modules of all others.
 */
const GROUPS: Readonly<Record<string, Readonly<Record<string, () => Promise<AddCommand>>>>> = {
  'Run the service:': {
    serve: async () => (await import('./operator/serve.ts')).addServe,
    doctor: async () => (await import('./doctor/doctor.ts')).addDoctor,
    ready: async () => (await import('./operator/ready.ts')).addReady,
  },
  'Call a server, with PAYBELL_URL and a key or with a profile that login stored:': {
    login: async () => (await import('./server/login.ts')).addLogin,
    logout: async () => (await import('./server/login.ts')).addLogout,
    whoami: async () => (await import('./server/login.ts')).addWhoami,
    attention: async () => (await import('./server/attention.ts')).addAttention,
    webhooks: async () => (await import('./server/webhooks/webhooks.ts')).addWebhooks,
    endpoints: async () => (await import('./server/endpoints/endpoints.ts')).addEndpoints,
    events: async () => (await import('./server/events.ts')).addEvents,
    deliveries: async () => (await import('./server/deliveries.ts')).addDeliveries,
    sources: async () => (await import('./server/chain/sources.ts')).addSources,
    payments: async () => (await import('./server/chain/payments.ts')).addPayments,
    invoices: async () => (await import('./server/chain/invoices.ts')).addInvoices,
    facts: async () => (await import('./server/chain/facts.ts')).addFacts,
    chain: async () => (await import('./chain/chain.ts')).addChain,
    secrets: async () => (await import('./server/secrets.ts')).addSecrets,
    reconcile: async () => (await import('./server/reconcile.ts')).addReconcile,
    stats: async () => (await import('./server/stats.ts')).addStats,
    tail: async () => (await import('./server/tail.ts')).addTail,
    play: async () => (await import('./play/play.ts')).addPlay,
  },
  'Receive on this machine:': {
    listen: async () => (await import('./listen/listen.ts')).addListen,
    verify: async () => (await import('./listen/verify.ts')).addVerify,
  },
  'Operate the store, with DATABASE_URL; these need no server and no key:': {
    entities: async () => (await import('./operator/entities.ts')).addEntities,
    keys: async () => (await import('./operator/keys/keys.ts')).addKeys,
    audit: async () => (await import('./operator/audit.ts')).addAudit,
    import: async () => (await import('./operator/import.ts')).addImport,
    export: async () => (await import('./operator/export.ts')).addExport,
    migrate: async () => (await import('./operator/migrate.ts')).addMigrate,
    backup: async () => (await import('./operator/backup.ts')).addBackup,
    copy: async () => (await import('./operator/copy/copy.ts')).addCopy,
    prune: async () => (await import('./operator/prune.ts')).addPrune,
    store: async () => (await import('./operator/store/store.ts')).addStore,
  },
  'Set up a shell:': {
    completion: async () => {
      const { addCompletion } = await import('./completion/completion.ts');
      return (program) => addCompletion(program, () => createProgram());
    },
  },
};

/** The width that Commander uses without a terminal. */
const DEFAULT_HELP_WIDTH = 80;

/** Arguments that need no command. */
const VERSION: ReadonlySet<string | undefined> = new Set(['--version', '-V']);

/**
 * Runs one command and returns the exit code: 0 for success, 1 for failure, 2 for wrong usage or settings. On a
 * given terminal, the command uses neither the streams nor the environment of the process, and several commands can run at
 * the same time. Relative paths still start at the working folder of the process.
 */
export async function run(args: readonly string[], on?: Terminal): Promise<number> {
  if (on !== undefined) return onTerminal(on, () => run(args));
  const json = wantsJson(args);
  try {
    const program = await createProgram({ quiet: json, only: args[0] });
    await program.parseAsync(isUnknownCommand(program, args) ? withoutHelp(args) : args, { from: 'user' });
    return EXIT.success;
  } catch (error) {
    // Commander ends `--version` and `--help` with this error. They skip the import below, which loads the store and
    // the settings.
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.success;
    const { reportFailure } = await import('./report-error.ts');
    return reportFailure(error, json);
  }
}

type ProgramOptions = {
  /** Prints no error for wrong usage, because the caller reports it. */
  quiet?: boolean;
  /** The command to add, if there is one of this name; otherwise all commands are added. */
  only?: string | undefined;
};

export async function createProgram({ quiet = false, only }: ProgramOptions = {}): Promise<Command> {
  // Subcommands inherit only settings made before they are added.
  const program = new Command(PAYBELL)
    .configureOutput({
      writeOut: (text) => terminal().stdout.write(text),
      writeErr: (text) => {
        if (!quiet) terminal().stderr.write(text);
      },
      getOutHelpWidth: () => helpWidth(terminal().stdout),
      getErrHelpWidth: () => helpWidth(terminal().stderr),
      getOutHasColors: () => showsColour(terminal().stdout),
      getErrHasColors: () => showsColour(terminal().stderr),
    })
    .description('Webhooks for crypto payments')
    .version(version)
    .exitOverride()
    .showHelpAfterError('(see --help)')
    .showSuggestionAfterError();
  const isKnown = VERSION.has(only) || Object.values(GROUPS).some((commands) => only !== undefined && only in commands);
  for (const [heading, commands] of Object.entries(GROUPS)) {
    program.commandsGroup(heading);
    const wanted = Object.entries(commands).filter(([name]) => !isKnown || name === only);
    for (const [, load] of wanted) (await load())(program);
  }
  addOperatorExamples(program, { isComplete: !isKnown });
  return program.commandsGroup('Help:').helpCommand('help [command]', 'show the help of a command');
}

function helpWidth({ isTTY, columns = DEFAULT_HELP_WIDTH }: Output): number {
  return isTTY ? columns : DEFAULT_HELP_WIDTH;
}

/** Whether `--json` is given. Checked before the arguments are parsed, because the parsing may fail. */
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

/** Removes `--help`, because Commander would show the parent's help for an unknown command, and exit with 0. */
function withoutHelp(args: readonly string[]): string[] {
  return args.filter((word) => word !== '--help' && word !== '-h');
}
