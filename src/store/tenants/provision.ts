import { PERMISSIONS } from '../../domain/keys/api-keys.ts';
import type { Database, Queries } from '../database/database.ts';
import { createApiKey } from './api-keys.ts';
import type { Change } from './audit.ts';
import { createEntity, hasEntities } from './entities.ts';
import type { SecretBox } from './secret-box.ts';

export type Provisioned = { entityId: string; apiKey: string };

/** Creates an entity that can be used at once: with its signing secrets and a first key that has every permission. */
export function provisionEntity(db: Database, box: SecretBox, name: string, change: Change): Promise<Provisioned> {
  return db.transaction((queries) => makeEntityAndKey(queries, box, name, change));
}

/**
 * Creates the first entity of an empty store. Two instances may start at once, but only one of them finds the store empty under
 * the lock.
 */
export async function provisionFirstEntity(db: Database, box: SecretBox, change: Change): Promise<Provisioned | null> {
  if (await hasEntities(db)) return null;
  return db.transaction(async (queries) => {
    for (const sql of db.dialect.lockStore) await queries.run(sql);
    return (await hasEntities(queries)) ? null : makeEntityAndKey(queries, box, 'First entity', change);
  });
}

async function makeEntityAndKey(queries: Queries, box: SecretBox, name: string, change: Change): Promise<Provisioned> {
  const { entityId } = await createEntity(queries, box, name, change);
  const options = { name: 'First key', permissions: PERMISSIONS, expiresAt: null };
  const { apiKey } = await createApiKey(queries, entityId, options, change);
  return { entityId, apiKey };
}
