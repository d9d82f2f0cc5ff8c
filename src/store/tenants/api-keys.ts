import type { ApiKey, ApiKeyListQuery } from '../../contract/admin.ts';
import { hashApiKey, lastFour, makeApiKey, type Permission } from '../../domain/api-keys.ts';
import type { Database, Queries, SqlInteger } from '../database/database.ts';
import { readPage } from '../database/paginate.ts';
import { Parameters } from '../database/sql.ts';
import { newId, randomBytes } from '../new-id.ts';
import { type Change, recordChange } from './audit.ts';

export type ApiKeyOptions = { name: string; permissions: readonly Permission[]; expiresAt: number | null };

/** The key itself is in the answer and nowhere else: the store keeps its hash. */
export async function createApiKey(
  queries: Queries,
  entityId: string,
  options: ApiKeyOptions,
  change: Change,
): Promise<{ keyId: string; apiKey: string }> {
  const { name, permissions, expiresAt } = options;
  const keyId = newId('key');
  const apiKey = makeApiKey(randomBytes);
  await queries.run(
    `insert into api_keys (entity_id, id, key_hash, last_four, name, permissions, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [entityId, keyId, hashApiKey(apiKey), lastFour(apiKey), name, permissions.join(','), change.nowS, expiresAt],
  );
  await recordChange(queries, entityId, change, {
    action: 'key.created',
    target: keyId,
    after: { name, permissions, dateExpires: expiresAt },
  });
  return { keyId, apiKey };
}

type ApiKeyRow = {
  id: string;
  entity_id: string;
  name: string;
  last_four: string;
  permissions: string;
  created_at: SqlInteger;
  expires_at: SqlInteger | null;
  revoked_at: SqlInteger | null;
  last_used_at: SqlInteger | null;
};

const COLUMNS = 'id, entity_id, name, last_four, permissions, created_at, expires_at, revoked_at, last_used_at';

const KEY_ORDER = { dateCreated: ['created_at', 'id'], name: ['name', 'id'] } as const;

/** Operator's query: the keys of one entity, or of all when none is named. */
export async function listApiKeys(
  db: Database,
  query: ApiKeyListQuery,
): Promise<{ totalResults: number; keys: ApiKey[] }> {
  const parameters = new Parameters();
  const where = [
    '1 = 1',
    ...(query.entityId === undefined ? [] : [`entity_id = ${parameters.bind(query.entityId)}`]),
    ...(query.keyId === undefined ? [] : [`id = ${parameters.bind(query.keyId)}`]),
  ].join(' and ');
  const order = KEY_ORDER[query.sortBy];
  const source = { table: 'api_keys', columns: COLUMNS, where, order, parameters: parameters.values };
  const { totalResults, rows } = await readPage<ApiKeyRow>(db, source, query);
  return { totalResults, keys: rows.map(toApiKey) };
}

/** Operator's command. Answers null for an unknown key; revoking twice keeps the first date. */
export function revokeApiKey(db: Database, keyId: string, change: Change): Promise<ApiKey | null> {
  return db.transaction(async (queries) => {
    const before = await queries.get<ApiKeyRow>(`select ${COLUMNS} from api_keys where id = $1`, [keyId]);
    if (before === undefined || before.revoked_at !== null) return before === undefined ? null : toApiKey(before);
    await queries.run('update api_keys set revoked_at = $3 where entity_id = $1 and id = $2', [
      before.entity_id,
      keyId,
      change.nowS,
    ]);
    await recordChange(queries, before.entity_id, change, {
      action: 'key.revoked',
      target: keyId,
      before: { name: before.name },
      after: { dateRevoked: change.nowS },
    });
    return toApiKey({ ...before, revoked_at: change.nowS });
  });
}

function toApiKey(row: ApiKeyRow): ApiKey {
  return {
    keyId: row.id,
    entityId: row.entity_id,
    name: row.name,
    prefix: 'pbk_',
    lastFour: row.last_four,
    permissions: row.permissions.split(',') as Permission[],
    dateCreated: Number(row.created_at),
    dateExpires: row.expires_at === null ? null : Number(row.expires_at),
    dateRevoked: row.revoked_at === null ? null : Number(row.revoked_at),
    dateLastUsed: row.last_used_at === null ? null : Number(row.last_used_at),
  };
}
