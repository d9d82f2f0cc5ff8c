import type { ApiKey } from '../../contract/admin.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Permission } from '../../domain/keys/api-keys.ts';
import type { Database, Queries } from '../database/database.ts';
import { type ApiKeyOptions, createApiKey, revokeApiKeyIn, SHOWN_KEY } from './api-keys.ts';
import type { Change } from './audit.ts';

/**
 * Keys that the holder of a key creates and revokes. No new key may do more than the key that creates it, and the last key is not
 * revoked by mistake.
 */

/** Far more than programs and people that share an entity. The operator may create more. */
export const MAX_KEYS_IN_FORCE = 100;

type NewKey = Omit<ApiKeyOptions, 'expiresAt'> & {
  /** Undefined to take over the expiry of the key that creates it. */
  readonly expiresAt: number | null | undefined;
};

/** The key that creates another key. An operator's key is not in the store, so its expiry is given instead of its id. */
export type KeyMaker = { readonly keyId: string } | { readonly keyId: null; readonly expiresAt: number | null };

export function createOwnKey(
  db: Database,
  entityId: string,
  maker: KeyMaker,
  key: NewKey,
  change: Change,
): Promise<{ keyId: string; apiKey: string }> {
  return db.transaction(async (queries) => {
    const inForce = await lockKeysInForce(db, queries, entityId, change.nowS);
    const own = inForce.find(({ keyId }) => keyId === maker.keyId);
    // The key was revoked or has expired since it was authenticated. A key that it creates would outlive it.
    if (maker.keyId !== null && own === undefined) throw new DomainError('key_not_in_force', {});
    const latest = maker.keyId === null ? maker.expiresAt : (own?.dateExpires ?? null);
    const expiresAt = key.expiresAt === undefined ? latest : key.expiresAt;
    if (latest !== null && (expiresAt === null || expiresAt > latest)) {
      throw new DomainError('key_outlives_its_maker', { latest });
    }
    if (inForce.length >= MAX_KEYS_IN_FORCE) throw new DomainError('key_limit', { limit: MAX_KEYS_IN_FORCE });
    return createApiKey(queries, entityId, { ...key, expiresAt }, change);
  });
}

export type Allowed = { readonly self: boolean; readonly last: boolean };

/** Returns null for an unknown key and for a key of another entity. Revoking twice keeps the first date. */
export function revokeOwnKey(
  db: Database,
  entityId: string,
  callerKeyId: string | null,
  keyId: string,
  allowed: Allowed,
  change: Change,
): Promise<ApiKey | null> {
  return db.transaction(async (queries) => {
    const inForce = await lockKeysInForce(db, queries, entityId, change.nowS);
    const target = inForce.find((key) => key.keyId === keyId);
    if (target !== undefined) {
      if (keyId === callerKeyId && !allowed.self) throw new DomainError('key_in_use', { keyId });
      const others = inForce.filter((key) => key !== target);
      if (isLast(target, others) && !allowed.last) throw new DomainError('last_key', { keyId });
    }
    return revokeApiKeyIn(queries, { entityId, keyId }, change);
  });
}

const MANAGES: Permission = 'keys:write';

/** Whether no key remains without this one, or no key that can create another. */
function isLast(target: ApiKey, others: readonly ApiKey[]): boolean {
  const manages = ({ permissions }: ApiKey) => permissions.includes(MANAGES);
  return others.length === 0 || (manages(target) && !others.some(manages));
}

/** Locks the entity, so that two concurrent requests cannot exceed a limit together. */
async function lockKeysInForce(db: Database, queries: Queries, entityId: string, nowS: number): Promise<ApiKey[]> {
  await queries.get(`select id from entities where id = $1 ${db.dialect.lockRow}`, [entityId]);
  return SHOWN_KEY.all(
    queries,
    `select ${SHOWN_KEY.list} from api_keys
     where entity_id = $1 and revoked_at is null and (expires_at is null or expires_at > $2)`,
    [entityId, nowS],
  );
}
