import type { Entity, EntityListQuery } from '../../contract/admin.ts';
import type { Database, Queries } from '../database/database.ts';
import { Columns, integer, nullable, Parameters, text } from '../database/sql.ts';
import { readPage } from '../list/page.ts';
import { newId } from '../new-id.ts';
import { type Change, recordChange } from './audit.ts';
import type { SecretBox } from './secret-box.ts';
import { createSigningKeys } from './secrets.ts';
import { entityTable, REVISION } from './tables.ts';

/** Creates an entity with its first signing secret and key pair, so that requests can be signed from the start. */
export async function createEntity(queries: Queries, box: SecretBox, name: string, change: Change): Promise<Entity> {
  const entityId = newId('ent');
  const { nowS } = change;
  await queries.run('insert into entities (id, name, created_at) values ($1, $2, $3)', [entityId, name, nowS]);
  await createSigningKeys(queries, box, entityId, nowS);
  await recordChange(queries, entityId, change, { action: 'entity.created', target: entityId, after: { name } });
  return { entityId, name, dateCreated: nowS };
}

const SHOWN_ENTITY = entityTable.pick(['entityId', 'name', 'dateCreated']);

const ENTITY_ORDER = { dateCreated: ['created_at', 'id'], name: ['name', 'id'] } as const;

/** For operators: every entity. */
export async function listEntities(
  db: Database,
  query: EntityListQuery,
): Promise<{ totalResults: number; entities: Entity[] }> {
  const { entityId, name, sortBy } = query;
  const parameters = new Parameters();
  const where = entityTable.where(parameters, { entityId, name });
  const order = ENTITY_ORDER[sortBy];
  const source = { table: 'entities', columns: SHOWN_ENTITY, where, order, parameters: parameters.values };
  const { totalResults, rows: entities } = await readPage(db.longReads, source, query);
  return { totalResults, entities };
}

export async function entityExists(queries: Pick<Queries, 'get'>, entityId: string): Promise<boolean> {
  return (await queries.get('select id from entities where id = $1', [entityId])) !== undefined;
}

const NAME = entityTable.pick(['name']);

/** Records that an operator opens the entity, and returns its name; null if there is no such entity. */
export async function visitEntity(db: Database, entityId: string, change: Change): Promise<string | null> {
  return db.transaction(async (queries) => {
    const entity = await NAME.get(queries, `select ${NAME.list} from entities where id = $1`, [entityId]);
    if (entity === undefined) return null;
    await recordChange(queries, entityId, change, { action: 'entity.visited', target: entityId });
    return entity.name;
  });
}

const CALLER = new Columns({ name: text('e.name'), dateExpires: nullable(integer('k.expires_at')) });

/** Reads the entity's name and the key's expiry. The operator's key is not in the database and never expires. */
export async function readCaller(
  db: Database,
  entityId: string,
  keyId: string,
): Promise<{ name: string; dateExpires: number | null }> {
  const row = await CALLER.get(
    db,
    `select ${CALLER.list} from entities e left join api_keys k on k.entity_id = e.id and k.id = $2 where e.id = $1`,
    [entityId, keyId],
  );
  return row ?? { name: '', dateExpires: null };
}

const REVISION_COLUMN = new Columns({ revision: integer(REVISION) });

export async function findRevision(db: Database, entityId: string): Promise<number | null> {
  const entity = await REVISION_COLUMN.get(db, `select ${REVISION_COLUMN.list} from entities where id = $1`, [
    entityId,
  ]);
  return entity?.revision ?? null;
}

/** Whether the database has any entity. The first start creates one if there is none. */
export async function hasEntities(queries: Pick<Queries, 'get'>): Promise<boolean> {
  return (await queries.get('select id from entities limit 1')) !== undefined;
}
