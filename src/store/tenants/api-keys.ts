import type { ApiKey, ApiKeyListQuery } from '../../contract/admin.ts';
import { hashApiKey, lastFour, makeApiKey, type Permission } from '../../domain/keys/api-keys.ts';
import { type Database, longReadsOf, type Queries } from '../database/database.ts';
import { Parameters } from '../database/sql.ts';
import { readPage } from '../list/page.ts';
import { newId, randomBytes } from '../new-id.ts';
import { type Change, recordChange } from './audit.ts';
import { apiKeyTable } from './tables.ts';

export type ApiKeyOptions = { name: string; permissions: readonly Permission[]; expiresAt: number | null };

const NEW_KEY = apiKeyTable.insertion(apiKeyTable.namesBut('dateRevoked', 'dateLastUsed'));

/** The return value alone has the key itself. The store has only the hash of the key. */
export async function createApiKey(
  queries: Queries,
  entityId: string,
  { name, permissions, expiresAt }: ApiKeyOptions,
  change: Change,
): Promise<{ keyId: string; apiKey: string }> {
  const keyId = newId('key');
  const apiKey = makeApiKey(randomBytes);
  const row = {
    entityId,
    keyId,
    keyHash: hashApiKey(apiKey),
    lastFour: lastFour(apiKey),
    name,
    permissions: [...permissions],
    dateCreated: change.nowS,
    dateExpires: expiresAt,
  };
  await queries.run(NEW_KEY.text(1), NEW_KEY.parameters([row]));
  await recordChange(queries, entityId, change, {
    action: 'key.created',
    target: keyId,
    after: { name, permissions, dateExpires: expiresAt },
  });
  return { keyId, apiKey };
}

/** The fields of a key in the order in which responses have them. */
export const SHOWN_KEY = apiKeyTable.pick([
  'keyId',
  'entityId',
  'name',
  'prefix',
  'lastFour',
  'permissions',
  'dateCreated',
  'dateExpires',
  'dateRevoked',
  'dateLastUsed',
]);

const KEY_ORDER = { dateCreated: ['created_at', 'id'], name: ['name', 'id'] } as const;

/** For operators: the keys of one entity, or of all entities if none is given. */
export async function listApiKeys(
  db: Database,
  query: ApiKeyListQuery,
): Promise<{ totalResults: number; keys: ApiKey[] }> {
  const { entityId, keyId, sortBy } = query;
  const parameters = new Parameters();
  const where = apiKeyTable.where(parameters, { entityId, keyId });
  const order = KEY_ORDER[sortBy];
  const source = { table: 'api_keys', columns: SHOWN_KEY, where, order, parameters: parameters.values };
  const { totalResults, rows: keys } = await readPage(
    entityId === undefined ? db.longReads : longReadsOf(db, entityId),
    source,
    query,
  );
  return { totalResults, keys };
}

/** For operators. Returns null for an unknown key; revoking twice keeps the first date. */
export function revokeApiKey(db: Database, keyId: string, change: Change): Promise<ApiKey | null> {
  return db.transaction((queries) => revokeApiKeyIn(queries, { keyId }, change));
}

/** Revokes the key with this id. If `which` names an entity, the key must belong to it. */
export async function revokeApiKeyIn(
  queries: Queries,
  which: { readonly entityId?: string; readonly keyId: string },
  change: Change,
): Promise<ApiKey | null> {
  const parameters = new Parameters();
  const where = apiKeyTable.where(parameters, which);
  const key = await SHOWN_KEY.get(queries, `select ${SHOWN_KEY.list} from api_keys where ${where}`, parameters.values);
  if (key === undefined) return null;
  if (key.dateRevoked !== null) return key;
  await queries.run('update api_keys set revoked_at = $3 where entity_id = $1 and id = $2', [
    key.entityId,
    key.keyId,
    change.nowS,
  ]);
  await recordChange(queries, key.entityId, change, {
    action: 'key.revoked',
    target: key.keyId,
    before: { name: key.name },
    after: { dateRevoked: change.nowS },
  });
  return { ...key, dateRevoked: change.nowS };
}
