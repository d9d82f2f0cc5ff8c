import { BoundedMap } from '../../../bounded-map.ts';
import { DISTRIBUTIONS } from '../distribution.ts';

/** The workers of Citus that a statement needs, by its text. The coordinator has a copy of each reference table. */
export type Route =
  | 'no worker'
  | 'every worker'
  /** For a statement that asks shards by name, and leaves those of silent workers out. */
  | 'workers that respond'
  /** The positions of the parameters that name an entity: more than one in an insertion of several rows. */
  | { readonly entitiesIn: readonly number[] };

/** The store has a few hundred texts, some of them for several numbers of rows. */
const MAX_TEXTS = 4_000;

const routes = new BoundedMap<string, Route>(MAX_TEXTS);

export function routeOf(sql: string): Route {
  const known = routes.get(sql);
  if (known !== undefined) return known;
  const route = read(sql);
  routes.set(sql, route);
  return route;
}

const TABLES = /\b(?:from|join|update|into|using)\s+(?:lateral\s+)?([a-z_]+)/g;
const NAMED = /\bentity_id (?:= |in \()(?:cast\()?\$(\d+)/;
const CHANGED = /\b(?:update|delete from|insert into)\s+([a-z_]+)/g;
const LOCKS = /\bfor (?:no key )?update\b/;
const INSERTED = /\binsert into [a-z_]+\s*\(([^)]*)\)\s*values\s*\((.*)/s;
const PARAMETER = /^\s*(?:cast\()?\$(\d+)/;
const OF_SHARDS = /\b(?:run_command_on|master_run_on_worker)/;

function read(sql: string): Route {
  if (OF_SHARDS.test(sql)) return 'workers that respond';
  const used = [...sql.matchAll(TABLES)].map(([, table = '']) => DISTRIBUTIONS[table]);
  if (used.includes('by entity')) {
    const named = NAMED.exec(sql)?.[1];
    const entities = named === undefined ? insertedEntities(sql) : [named];
    return entities.length === 0 ? 'every worker' : { entitiesIn: entities.map((one) => Number(one) - 1) };
  }
  const changed = [...sql.matchAll(CHANGED)].map(([, table = '']) => DISTRIBUTIONS[table]);
  const isLocking = LOCKS.test(sql) && used.includes('reference');
  return isLocking || changed.includes('reference') ? 'every worker' : 'no worker';
}

/** Statistics have rows of several entities in one insertion. */
function insertedEntities(sql: string): string[] {
  const [, columns = '', values = ''] = INSERTED.exec(sql) ?? [];
  const position = columns.split(',').findIndex((column) => column.trim() === 'entity_id');
  return values.split(/\),\s*\(/).flatMap((row) => PARAMETER.exec(row.split(',')[position] ?? '')?.[1] ?? []);
}
