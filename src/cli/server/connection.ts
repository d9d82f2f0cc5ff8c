import type { Command } from 'commander';
import { nearest } from '../../contract/parse-input.ts';
import { UsageError } from '../terminal/command-error.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { type Environment, terminal } from '../terminal/terminal.ts';
import { DEFAULT_PROFILE, type Profile, profileFile, readProfiles } from './profiles.ts';

/** The server, entity and key of a command: from its options, the environment, or the profile that `login` stored. */

export const DEFAULT_URL = 'http://127.0.0.1:8080';
export const DEFAULT_PROCESSOR = 'crypto';
/** Environment variables of the commands that call a server. */
export const CONNECTION_VARIABLES: readonly string[] = [
  'PAYBELL_URL',
  'PAYBELL_API_KEY',
  'PAYBELL_ENTITY_ID',
  'PAYBELL_PROFILE',
  'PAYBELL_PROCESSOR',
];

export type ConnectionOptions = { server?: string; entity?: string; profile?: string };
export type Connection = Profile & { readonly from: string };

/** There is no option for the key, because every user of a machine can read the arguments of a process. */
export function addConnectionOptions(command: Command): Command {
  return command
    .optionsGroup('Server:')
    .option('--server <url>', 'URL of the server, instead of PAYBELL_URL')
    .option('--entity <id>', 'entity to act for, instead of PAYBELL_ENTITY_ID')
    .option('--profile <name>', `profile that ${PAYBELL} login stored`);
}

export function currentConnection(options: ConnectionOptions): Connection {
  const { env } = terminal();
  return resolveConnection(options, env, readProfiles(profileFile(env)));
}

/** Null if neither options, environment nor profile name a server, for commands that do not need one. */
export function connectionIfAny(options: ConnectionOptions): Connection | null {
  const { server, entity, profile } = options;
  const { env } = terminal();
  const { PAYBELL_URL, PAYBELL_API_KEY, PAYBELL_PROFILE } = env;
  const isNamed = [server, entity, profile, PAYBELL_URL, PAYBELL_API_KEY, PAYBELL_PROFILE].some(Boolean);
  if (!isNamed && !Object.hasOwn(readProfiles(profileFile(env)), DEFAULT_PROFILE)) return null;
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
  if (profile === undefined) throw new UsageError(explainMissing(name, options, environment));
  const url = options.server ?? (options.profile === undefined ? environment.PAYBELL_URL : undefined);
  // A stored key is sent only to the server that it was stored for.
  if (url && withoutSlash(url) !== profile.url) {
    const source = options.server === undefined ? 'PAYBELL_URL' : '--server';
    throw new UsageError(
      `${source} is ${url}, but the key of profile ${name} is for ${profile.url}: ` +
        `set PAYBELL_API_KEY too, or use ${PAYBELL} login --server ${url}`,
    );
  }
  return { ...profile, entityId: options.entity ?? profile.entityId, from: `profile ${name}` };
}

function fromEnvironment(apiKey: string, options: ConnectionOptions, environment: Environment): Connection {
  const entityId = options.entity ?? environment.PAYBELL_ENTITY_ID;
  if (!entityId) {
    throw new UsageError(`PAYBELL_API_KEY is set, so set PAYBELL_ENTITY_ID too, or give --entity <id>`);
  }
  const url = requireUrl(options.server ?? (environment.PAYBELL_URL || DEFAULT_URL));
  const processor = environment.PAYBELL_PROCESSOR || DEFAULT_PROCESSOR;
  return { url, processor, entityId, apiKey, from: 'PAYBELL_API_KEY' };
}

/** Without a trailing slash, so that equal servers have equal URLs. */
export function requireUrl(text: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '') return withoutSlash(text);
  throw new UsageError(`${text} is not the URL of a server; give one such as ${DEFAULT_URL}`);
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}

export function profileName(options: ConnectionOptions, environment: Environment): string {
  return options.profile ?? (environment.PAYBELL_PROFILE || DEFAULT_PROFILE);
}

function explainMissing(name: string, options: ConnectionOptions, environment: Environment): string {
  const given = options.profile ?? environment.PAYBELL_PROFILE;
  const what = given ? `there is no profile ${name}` : 'no API key is set, and no profile is stored';
  return (
    `${what}.\n      Store one with: ${PAYBELL} login${given ? ` --profile ${name}` : ''}\n` +
    `      or set PAYBELL_API_KEY and PAYBELL_ENTITY_ID, and PAYBELL_URL unless it is ${DEFAULT_URL}.\n` +
    `      The first start of the server prints these as export lines to paste.\n` +
    `      For another key, on the server: ${PAYBELL} entities list, then ${PAYBELL} keys create --entity <id>` +
    misspeltVariables(environment)
      .map(({ variable, meant }) => `\n      ${variable} is not read: did you mean ${meant}?`)
      .join('') +
    // A user who names an entity and has no key may be the operator, looking for the command on the store.
    (options.entity === undefined ? '' : `\n      As the operator, on the store itself: ${PAYBELL} store --help`)
  );
}

function misspeltVariables(environment: Environment): { variable: string; meant: string }[] {
  return Object.keys(environment).flatMap((variable) => {
    if (!variable.startsWith('PAYBELL_') || CONNECTION_VARIABLES.includes(variable)) return [];
    const meant = nearest(variable, CONNECTION_VARIABLES);
    return meant === null ? [] : [{ variable, meant }];
  });
}
