import type { Command } from 'commander';
import { nearest } from '../../contract/parse-input.ts';
import { CommandError, EXIT } from '../terminal/command-error.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { DEFAULT_PROFILE, type Profile, profileFile, readProfiles } from './profiles.ts';

/** Which server a command speaks to and as whom: by option, by environment, or by the profile that `login` stored. */

export const DEFAULT_URL = 'http://127.0.0.1:8080';
export const DEFAULT_PROCESSOR = 'crypto';
const VARIABLES = [
  'PAYBELL_URL',
  'PAYBELL_API_KEY',
  'PAYBELL_ENTITY_ID',
  'PAYBELL_PROFILE',
  'PAYBELL_PROCESSOR',
] as const;

type Environment = Readonly<Record<string, string | undefined>>;
export type ConnectionOptions = { server?: string; entity?: string; profile?: string };
export type Connection = Profile & { readonly from: string };

/** There is no option for the key: everybody on a machine can read the arguments of a process. */
export function addConnectionOptions(command: Command): Command {
  return command
    .optionsGroup('Server:')
    .option('--server <url>', 'server to speak to, in place of PAYBELL_URL')
    .option('--entity <id>', 'entity to act for, in place of PAYBELL_ENTITY_ID')
    .option('--profile <name>', `profile that ${PAYBELL} login stored`);
}

export function currentConnection(options: ConnectionOptions): Connection {
  return resolveConnection(options, process.env, readProfiles(profileFile(process.env)));
}

/** Null where nobody said anything of a server: for commands that can do without one. */
export function connectionIfAny(options: ConnectionOptions): Connection | null {
  const { server, entity, profile } = options;
  const { PAYBELL_URL, PAYBELL_API_KEY, PAYBELL_PROFILE } = process.env;
  const isSaid = [server, entity, profile, PAYBELL_URL, PAYBELL_API_KEY, PAYBELL_PROFILE].some(Boolean);
  if (!isSaid && !Object.hasOwn(readProfiles(profileFile(process.env)), DEFAULT_PROFILE)) return null;
  return currentConnection(options);
}

export function resolveConnection(
  options: ConnectionOptions,
  environment: Environment,
  profiles: Readonly<Record<string, Profile>>,
): Connection {
  const apiKey = environment.PAYBELL_API_KEY;
  if (apiKey && options.profile === undefined) return fromEnvironment(apiKey, options, environment);
  const name = profileName(options, environment);
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile === undefined) throw new CommandError(missing(name, options, environment), EXIT.usage);
  const url = options.server ?? (options.profile === undefined ? environment.PAYBELL_URL : undefined);
  // A stored key goes to the server that it was stored for and to no other.
  if (url && withoutSlash(url) !== profile.url) {
    const said = options.server === undefined ? 'PAYBELL_URL' : '--server';
    throw new CommandError(
      `${said} is ${url}, but the key of profile ${name} is for ${profile.url}: ` +
        `set PAYBELL_API_KEY too, or use ${PAYBELL} login --server ${url}`,
      EXIT.usage,
    );
  }
  return { ...profile, entityId: options.entity ?? profile.entityId, from: `profile ${name}` };
}

function fromEnvironment(apiKey: string, options: ConnectionOptions, environment: Environment): Connection {
  const entityId = options.entity ?? environment.PAYBELL_ENTITY_ID;
  if (!entityId) {
    throw new CommandError(`PAYBELL_API_KEY is set, so set PAYBELL_ENTITY_ID too, or give --entity <id>`, EXIT.usage);
  }
  const url = requireUrl(options.server ?? (environment.PAYBELL_URL || DEFAULT_URL));
  const processor = environment.PAYBELL_PROCESSOR || DEFAULT_PROCESSOR;
  return { url, processor, entityId, apiKey, from: 'PAYBELL_API_KEY' };
}

/** Without a slash at the end, so that one server has one spelling. */
export function requireUrl(text: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '') return withoutSlash(text);
  throw new CommandError(`${text} is not the URL of a server: it looks like ${DEFAULT_URL}`, EXIT.usage);
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}

export function profileName(options: ConnectionOptions, environment: Environment): string {
  return options.profile ?? (environment.PAYBELL_PROFILE || DEFAULT_PROFILE);
}

function missing(name: string, options: ConnectionOptions, environment: Environment): string {
  const named = options.profile ?? environment.PAYBELL_PROFILE;
  const misspelt = Object.keys(environment).flatMap((variable) => {
    if (!variable.startsWith('PAYBELL_') || (VARIABLES as readonly string[]).includes(variable)) return [];
    const meant = nearest(variable, VARIABLES);
    return meant === null ? [] : [`\n      ${variable} is not read: is ${meant} meant?`];
  });
  const what = named ? `there is no profile ${name}` : 'no server is known: nobody has logged in, and no key is set';
  return (
    `${what}.\n      Store one with: ${PAYBELL} login${named ? ` --profile ${name}` : ''}\n` +
    `      or set PAYBELL_API_KEY and PAYBELL_ENTITY_ID, and PAYBELL_URL when it is not ${DEFAULT_URL}.` +
    misspelt.join('') +
    // Whoever names an entity and has no key may have meant the other kind of command.
    (options.entity === undefined ? '' : `\n      As the operator, on the store itself: ${PAYBELL} store --help`)
  );
}
