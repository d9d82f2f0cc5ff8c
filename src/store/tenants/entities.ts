import type { Entity, EntityListQuery } from '../../contract/admin.ts';
import type { Database, Queries, SqlInteger } from '../database/database.ts';
import { readPage } from '../database/paginate.ts';
import { Parameters } from '../database/sql.ts';
import { newId } from '../new-id.ts';
import { type Change, recordChange } from './audit.ts';
import type { SecretBox } from './secret-box.ts';
import { createSigningKeys } from './secrets.ts';

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

const ENTITY_ORDER = { dateCreated: ['created_at', 'id'], name: ['name', 'id'] } as const;

/** Operator's query: every entity. */
export async function listEntities(
  db: Database,
  query: EntityListQuery,
): Promise<{ totalResults: number; entities: Entity[] }> {
  const parameters = new Parameters();
  const where = [
    '1 = 1',
    ...(query.entityId === undefined ? [] : [`id = ${parameters.bind(query.entityId)}`]),
    ...(query.name === undefined ? [] : [`name = ${parameters.bind(query.name)}`]),
  ].join(' and ');
  const source = {
    table: 'entities',
    columns: 'id, name, created_at',
    where,
    order: ENTITY_ORDER[query.sortBy],
    parameters: parameters.values,
  };
  const { totalResults, rows } = await readPage<EntityRow>(db, source, query);
  const entities = rows.map((row) => ({ entityId: row.id, name: row.name, dateCreated: Number(row.created_at) }));
  return { totalResults, entities };
}

export async function entityExists(queries: Pick<Queries, 'get'>, entityId: string): Promise<boolean> {
  return (await queries.get('select id from entities where id = $1', [entityId])) !== undefined;
}

export async function findRevision(db: Database, entityId: string): Promise<number | null> {
  const row = await db.get<{ revision: SqlInteger }>('select revision from entities where id = $1', [entityId]);
  return row === undefined ? null : Number(row.revision);
}

/** Operator's query: whether this store has been used at all. */
export async function hasEntities(queries: Pick<Queries, 'get'>): Promise<boolean> {
  return (await queries.get('select id from entities limit 1')) !== undefined;
}
