import { type Command, InvalidArgumentError } from 'commander';
import { type ApiKey, apiKeyListQuerySchema, newApiKeySchema } from '../../../contract/admin.ts';
import { isPermission, PERMISSIONS, type Permission } from '../../../domain/keys/api-keys.ts';
import { createApiKey, listApiKeys, revokeApiKey } from '../../../store/tenants/api-keys.ts';
import { entityExists } from '../../../store/tenants/entities.ts';
import { addListOptions, type OptionValues, parseOptions } from '../../options/list-options.ts';
import { duration, parseList } from '../../options/values.ts';
import { CommandError } from '../../terminal/command-error.ts';
import { PAYBELL } from '../../terminal/invocation.ts';
import { printJson, printLine, showDate } from '../../terminal/output.ts';
import { printTable, printTotal } from '../../terminal/table.ts';
import { changeByCommandLine, secondsNow, withStore } from '../session.ts';
import { addOperatorKey } from './operator-key.ts';

export function addKeys(program: Command): void {
  const keys = program.command('keys').description('API keys of entities');
  keys
    .command('create')
    .description('create a key; it is shown only once')
    .requiredOption('--entity <id>', 'entity that the key belongs to')
    .option('--name <name>', 'purpose of the key', 'Key')
    .option('--permissions <list>', 'comma-separated permissions', parsePermissions, [...PERMISSIONS])
    .option('--expires <duration>', 'how long the key is valid, such as 90d (default: for ever)', parseExpiry)
    .option('--json', 'print JSON')
    .action(create);
  addListOptions(
    keys
      .command('list')
      .description('list keys, without their secret part')
      .option('--entity <id>', 'only keys of this entity'),
  ).action(list);
  keys
    .command('revoke')
    .description('revoke a key; it is refused from the next request on')
    .argument('<keyId>', 'id of the key')
    .option('--json', 'print JSON')
    .action(revoke);
  addOperatorKey(keys);
}

type CreateOptions = { entity: string; name: string; permissions: Permission[]; expires?: number; json?: boolean };

async function create({ entity, permissions, expires, json, ...given }: CreateOptions): Promise<void> {
  const { name } = parseOptions(newApiKeySchema.pick({ name: true }), given);
  const change = changeByCommandLine();
  const expiresAt = expires === undefined ? null : change.nowS + Math.floor(expires / 1000);
  const key = await withStore(({ db }) =>
    db.transaction(async (queries) => {
      if (!(await entityExists(queries, entity))) throw new CommandError(`there is no entity ${entity}`);
      return createApiKey(queries, entity, { name, permissions, expiresAt }, change);
    }),
  );
  if (json) return printJson(key);
  printLine(`key-id   ${key.keyId}`);
  printLine(`api-key  ${key.apiKey}`);
  printLine('The key is shown only this once.');
}

async function list({ entity, ...options }: OptionValues): Promise<void> {
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
    `No keys match. Create one: ${PAYBELL} keys create --entity <id>`,
    {
      shorten: { 'key-id': 13, 'entity-id': 13, permissions: 12, name: 8 },
      leaveOut: ['expires', 'created', 'last used', 'permissions'],
    },
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
  const names = [...new Set(parseList(text))];
  const unknown = names.filter((name) => !isPermission(name));
  if (unknown.length === 0) return names.filter(isPermission);
  throw new InvalidArgumentError(`Unknown: ${unknown.join(', ')}. Known permissions are ${PERMISSIONS.join(', ')}.`);
}

const parseExpiry = duration(1_000, Number.POSITIVE_INFINITY, 'Give a duration such as 12h or 90d.');
