import { type Change, recordChange } from './audit.ts';
import type { Database, Queries, SqlInteger } from './database.ts';
import { newId } from './new-id.ts';
import type { SecretBox } from './secret-box.ts';
import { createSigningKeys } from './secrets.ts';

export type Entity = { entityId: string; name: string; dateCreated: number };

type EntityRow = { id: string; name: string; created_at: SqlInteger };

/** With its first signing secret and key pair: an entity can be posted for from its first moment. */
export async function createEntity(queries: Queries, box: SecretBox, name: string, change: Change): Promise<Entity> {
  const entityId = newId('ent');
  const { nowS } = change;
  await queries.run('insert into entities (id, name, created_at) values ($1, $2, $3)', [entityId, name, nowS]);
  await createSigningKeys(queries, box, entityId, nowS);
  await recordChange(queries, entityId, change, { action: 'entity.created', target: entityId, after: { name } });
  return { entityId, name, dateCreated: nowS };
}

/** Operator's query: every entity. */
export async function listEntities(db: Database): Promise<Entity[]> {
  const rows = await db.all<EntityRow>('select id, name, created_at from entities order by created_at, id');
  return rows.map((row) => ({ entityId: row.id, name: row.name, dateCreated: Number(row.created_at) }));
}

export async function entityExists(queries: Pick<Queries, 'get'>, entityId: string): Promise<boolean> {
  return (await queries.get('select id from entities where id = $1', [entityId])) !== undefined;
}

/** Operator's query: whether this store has been used at all. */
export async function hasEntities(queries: Pick<Queries, 'get'>): Promise<boolean> {
  return (await queries.get('select id from entities limit 1')) !== undefined;
}
