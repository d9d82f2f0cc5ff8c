import type { ApiKey, ApiKeyListQuery } from '../../contract/admin.ts';
import { hashApiKey, lastFour, makeApiKey, type Permission } from '../../domain/api-keys.ts';
import { BoundedMap } from '../../domain/bounded-map.ts';
import type { Database, Queries, SqlInteger } from '../database/database.ts';
import { readPage } from '../database/paginate.ts';
import { chunks, Parameters, valuesList } from '../database/sql.ts';
import { newId, randomBytes } from '../new-id.ts';
import { type Change, recordChange } from './audit.ts';

export type ApiKeyOptions = { name: string; permissions: readonly Permission[]; expiresAt: number | null };

/** Who is calling, and the revision of its entity at the moment of the question. */
export type KeyHolder = { keyId: string; entityId: string; permissions: ReadonlySet<string>; revision: number };

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

type HolderRow = { key_hash: string; id: string; entity_id: string; permissions: string; revision: SqlInteger };

/** Who holds which of these keys, by their hashes; one of the few queries without an entity: it is what tells the entity. */
export async function findKeyHolders(
  db: Database,
  keyHashes: readonly string[],
  nowS: number,
): Promise<Map<string, KeyHolder>> {
  const holders = new Map<string, KeyHolder>();
  for (const chunk of chunks(keyHashes)) {
    const rows = await db.all<HolderRow>(
      `select k.key_hash, k.id, k.entity_id, k.permissions, e.revision
       from api_keys k join entities e on e.id = k.entity_id
       where k.key_hash in ${valuesList(1, chunk.length, 1)} and k.revoked_at is null
         and (k.expires_at is null or k.expires_at > $1)`,
      [nowS, ...chunk],
    );
    for (const row of rows) {
      holders.set(row.key_hash, {
        keyId: row.id,
        entityId: row.entity_id,
        permissions: permissionsIn(row.permissions),
        revision: Number(row.revision),
      });
    }
  }
  return holders;
}

/** There are few combinations, and most keys have the same one: a set for each is made once. */
const MAX_PERMISSION_SETS = 1_000;
const permissionSets = new BoundedMap<string, ReadonlySet<string>>(MAX_PERMISSION_SETS);

function permissionsIn(text: string): ReadonlySet<string> {
  const known = permissionSets.get(text);
  if (known !== undefined) return known;
  const made = new Set(text.split(','));
  permissionSets.set(text, made);
  return made;
}

export type KeyUse = { entityId: string; keyId: string; usedAt: number };

export function recordKeyUses(db: Database, uses: readonly KeyUse[]): Promise<void> {
  return db.transaction(async (queries) => {
    for (const { entityId, keyId, usedAt } of uses) {
      await queries.run(
        `update api_keys set last_used_at = $3
         where entity_id = $1 and id = $2 and (last_used_at is null or last_used_at < $3)`,
        [entityId, keyId, usedAt],
      );
    }
  });
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
