import type { Command } from 'commander';
import type { CallerInfo } from '../../client/paybell.ts';
import { CommandError, UsageError } from '../terminal/command-error.ts';
import { addExamples } from '../terminal/help.ts';
import { printable, printJson, printLine, showDate } from '../terminal/output.ts';
import { prompt, readFirstLine } from '../terminal/prompt.ts';
import { printFields } from '../terminal/table.ts';
import { terminal } from '../terminal/terminal.ts';
import {
  addConnectionOptions,
  type ConnectionOptions,
  currentConnection,
  DEFAULT_PROCESSOR,
  DEFAULT_URL,
  profileName,
  requireUrl,
} from './connection.ts';
import { DEFAULT_PROFILE, type Profile, profileFile, readProfiles, writeProfile } from './profiles.ts';
import { clientFor } from './session.ts';

export function addLogin(program: Command): void {
  const login = program
    .command('login')
    .description('store a server, an entity and its key for the other commands; prompts for missing values')
    .option('--server <url>', `URL of the server (default: ${DEFAULT_URL})`)
    .option('--entity <id>', 'entity that the key belongs to')
    .option('--processor <name>', "path segment that the server's setting PROCESSOR names")
    .option('--profile <name>', `name to store it under (default: ${DEFAULT_PROFILE})`)
    .option('--json', 'print JSON');
  addExamples(
    login,
    ['login --entity ent_0199c2a6e0b17d3c8a54f1e2d3c4b5a6', 'login --profile live --server https://pay.example.com'],
    'The key is read from PAYBELL_API_KEY, from a prompt or from standard input. It is never shown.',
  ).action(logIn);
}

export function addLogout(program: Command): void {
  const logout = program.command('logout').description('delete a stored profile');
  logout.option('--profile <name>', 'profile to delete').option('--json', 'print JSON');
  addExamples(logout, ['logout']).action(logOut);
}

export function addWhoami(program: Command): void {
  const whoami = program
    .command('whoami')
    .description('show the server and entity that commands use, and check the key');
  addConnectionOptions(whoami.option('--json', 'print JSON'));
  addExamples(whoami, ['whoami']).action(whoAmI);
}

type Printing = { json?: boolean };
type LoginOptions = ConnectionOptions & Printing & { processor?: string };

async function logIn(options: LoginOptions): Promise<void> {
  const { env } = terminal();
  const name = profileName(options, env);
  if (!/^[\w.-]{1,64}$/.test(name)) {
    throw new UsageError('a profile name has 1 to 64 letters, digits, dots, - or _');
  }
  const profile: Profile = {
    url: requireUrl(options.server ?? (env.PAYBELL_URL || (await promptFor('Server', DEFAULT_URL)))),
    processor: options.processor ?? (env.PAYBELL_PROCESSOR || DEFAULT_PROCESSOR),
    entityId: options.entity ?? (env.PAYBELL_ENTITY_ID || (await promptFor('Entity id', null))),
    apiKey: env.PAYBELL_API_KEY || (await readKey()),
  };
  if (profile.apiKey === '') throw new UsageError('no key was given');
  await readCaller(profile);
  const file = profileFile(env);
  writeProfile(file, name, profile);
  const { url, entityId } = profile;
  if (options.json) printJson({ url, entityId, profile: name, file });
  else printLine(`Logged in to ${url} as ${entityId}. Stored as profile ${name} in ${file}.`);
}

/** Prompts only on a terminal; a script has to name the entity. */
async function promptFor(what: string, defaultValue: string | null): Promise<string> {
  const { keyboard } = terminal();
  if (keyboard === null) {
    if (defaultValue !== null) return defaultValue;
    throw new UsageError('give --entity <id>, or set PAYBELL_ENTITY_ID');
  }
  const value = await prompt(keyboard, `${what}${defaultValue === null ? '' : ` [${defaultValue}]`}: `);
  return value || (defaultValue ?? '');
}

function readKey(): Promise<string> {
  const { keyboard } = terminal();
  return keyboard === null ? readFirstLine() : prompt(keyboard, 'Key (not shown): ', { secret: true });
}

/** Fails if the server does not accept the key. Every valid key may read its own permissions. */
function readCaller(profile: Profile): Promise<CallerInfo> {
  return clientFor({ ...profile, from: 'login' }).entity();
}

async function logOut(options: ConnectionOptions & Printing): Promise<void> {
  const { env } = terminal();
  const name = profileName(options, env);
  const file = profileFile(env);
  if (!Object.hasOwn(readProfiles(file), name)) throw new CommandError(`there is no profile ${name}`);
  writeProfile(file, name, null);
  if (options.json) printJson({ profile: name, deleted: true });
  else printLine(`Deleted profile ${name}. Its key stays valid until it is revoked.`);
}

async function whoAmI({ json, ...options }: ConnectionOptions & Printing): Promise<void> {
  const connection = currentConnection(options);
  const { name, keyId, permissions, dateExpires } = await readCaller(connection);
  const { url, entityId, processor, from } = connection;
  if (json) return printJson({ url, entityId, name, processor, from, keyId, permissions, dateExpires });
  printFields({
    server: url,
    entity: entityId,
    name: printable(name),
    processor,
    from,
    key: keyId,
    permissions: permissions.join(', '),
    expires: dateExpires === null ? 'never' : showDate(dateExpires),
  });
}
