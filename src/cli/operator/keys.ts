import { type Command, InvalidArgumentError } from 'commander';
import { parseDurationMs } from '../../config.ts';
import { type ApiKey, apiKeyListQuerySchema, newApiKeySchema } from '../../contract/admin.ts';
import { PERMISSIONS, type Permission } from '../../domain/api-keys.ts';
import { createApiKey, listApiKeys, revokeApiKey } from '../../store/tenants/api-keys.ts';
import { entityExists } from '../../store/tenants/entities.ts';
import { addListOptions, parseOptions } from '../formats/list-options.ts';
import { CommandError } from '../terminal/command-error.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { printJson, printLine, printTable, printTotal, showDate } from '../terminal/output.ts';
import { changeByCommandLine, secondsNow, withStore } from './session.ts';

export function addKeys(program: Command): void {
  const keys = program.command('keys').description('api keys of an entity');
  keys
    .command('create')
    .description('make a key; it is shown once')
    .requiredOption('--entity <id>', 'entity that the key belongs to')
    .option('--name <name>', 'what the key is for', 'Key')
    .option('--permissions <list>', 'comma list', parsePermissions, [...PERMISSIONS])
    .option('--expires <duration>', 'for example 90d; never when absent', parseExpiry)
    .option('--json', 'print JSON')
    .action(create);
  addListOptions(
    keys
      .command('list')
      .description('list keys, never the keys themselves')
      .option('--entity <id>', 'only the keys of this entity'),
  ).action(list);
  keys
    .command('revoke')
    .description('refuse a key from the next request on')
    .argument('<keyId>')
    .option('--json', 'print JSON')
    .action(revoke);
}

type CreateOptions = { entity: string; name: string; permissions: Permission[]; expires?: number; json?: boolean };

async function create({ entity, permissions, expires, json, ...given }: CreateOptions): Promise<void> {
  const { name } = parseOptions(newApiKeySchema.pick({ name: true }), given);
  const change = changeByCommandLine();
  const expiresAt = expires === undefined ? null : change.nowS + expires;
  const made = await withStore(({ db }) =>
    db.transaction(async (queries) => {
      if (!(await entityExists(queries, entity))) throw new CommandError(`there is no entity ${entity}`);
      return createApiKey(queries, entity, { name, permissions, expiresAt }, change);
    }),
  );
  if (json) return printJson(made);
  printLine(`key-id   ${made.keyId}`);
  printLine(`api-key  ${made.apiKey}`);
  printLine('The key is shown only this once.');
}

async function list({ entity, ...options }: Record<string, string | boolean | undefined>): Promise<void> {
  const query = parseOptions(apiKeyListQuerySchema, { ...options, entityId: entity });
  const { totalResults, keys } = await withStore(({ db }) => listApiKeys(db, query));
  if (options.json) return printJson({ totalResults, keys });
  printTable(
    ['key-id', 'entity-id', 'name', 'key', 'permissions', 'created', 'last used', 'expires', 'state'],
    keys.map((key) => [
      key.keyId,
      key.entityId,
      key.name,
      `${key.prefix}…${key.lastFour}`,
      key.permissions.length === PERMISSIONS.length ? 'all' : key.permissions.join(','),
      showDate(key.dateCreated),
      showDate(key.dateLastUsed),
      showDate(key.dateExpires),
      stateOf(key),
    ]),
    `No keys here: ${PAYBELL} keys create --entity <id>`,
  );
  printTotal(totalResults, keys.length);
}

async function revoke(keyId: string, { json }: { json?: boolean }): Promise<void> {
  const key = await withStore(({ db }) => revokeApiKey(db, keyId, changeByCommandLine()));
  if (key === null) throw new CommandError(`there is no key ${keyId}`);
  if (json) return printJson(key);
  printLine(`Revoked ${key.keyId} (${key.name}).`);
}

function stateOf(key: ApiKey): string {
  if (key.dateRevoked !== null) return 'revoked';
  return key.dateExpires !== null && key.dateExpires <= secondsNow() ? 'expired' : 'active';
}

function parsePermissions(text: string): Permission[] {
  const names = [...new Set(text.split(',').map((name) => name.trim()))];
  const unknown = names.filter((name) => !(PERMISSIONS as readonly string[]).includes(name));
  if (unknown.length === 0) return names as Permission[];
  throw new InvalidArgumentError(`Unknown: ${unknown.join(', ')}. Known are ${PERMISSIONS.join(', ')}.`);
}

function parseExpiry(text: string): number {
  const durationMs = parseDurationMs(text);
  if (durationMs === null || durationMs < 1000) throw new InvalidArgumentError('Give a duration such as 12h or 90d.');
  return Math.floor(durationMs / 1000);
}
