import type { SQL } from 'bun';
import type { Dialect } from '../database.ts';
import { listOfValues } from '../sql.ts';

/**
 * Citus: PostgreSQL whose tables are distributed over several servers by entity. Citus sends a statement to the server of its
 * entity if a condition outside of the list of rows names the entity. All rows of one list belong to one entity.
 */

const OF_ENTITY = (table: string) => ` and ${table}.entity_id = cast($1 as uuid)`;

/**
 * The statement `addCounts` as a function, because Citus accepts no subquery in an `insert`. `--distribute` creates the function on
 * every server.
 */
export function functionsText({ addCounts }: Dialect): readonly string[] {
  return [
    `create or replace function paybell_add_counts(counts text, more text) returns text language sql immutable
     as $body$ select ${addCounts('counts', 'more')} $body$`,
  ];
}

/** Registers each function with Citus, for its workers. */
export const DISTRIBUTE_FUNCTIONS = [`select create_distributed_function('paybell_add_counts(text, text)')`] as const;

/** Sets nothing for the planner: the server that has the rows does not get the settings of this connection. */
export function citusDialect(plain: Dialect): Dialect {
  return {
    ...plain,
    isDistributed: true,
    ofEntity: OF_ENTITY,
    rowList: listOfValues,
    addCounts: (counts, more) => `paybell_add_counts(${counts}, ${more})`,
    planForClaims: `select ${plain.nowMs} as now_ms`,
    lookUp: (join, table, alias, key) => {
      const conditions = Object.entries(key).map(([column, value]) => `${alias}.${column} = ${value}`);
      // Tables without an entity column are on every server.
      const ofEntity = 'entity_id' in key ? OF_ENTITY(alias) : '';
      return `${join === 'cross join' ? 'join' : join} ${table} ${alias} on ${conditions.join(' and ')}${ofEntity}`;
    },
    rowsOf: (table, list, key) => ({
      from: list,
      where: `${key.map((column) => `${table}.${column} = ${list}.${column}`).join(' and ')}${OF_ENTITY(table)}`,
    }),
  };
}

/** Whether `paybell migrate --distribute` has run on this store. */
export async function isDistributed(client: SQL): Promise<boolean> {
  const extension = await client.unsafe(`select 1 as found from pg_extension where extname = 'citus'`);
  if (extension.length === 0) return false;
  const tables = await client.unsafe(
    `select 1 as found from pg_dist_partition where partmethod = 'h' and logicalrelid = to_regclass('queue')`,
  );
  return tables.length > 0;
}
