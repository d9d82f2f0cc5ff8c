import { type Database, type Reads, type SqlUuid, StoreUnavailableError } from './database.ts';

/** One table, or two tables of one statement. Citus has the rows of an entity in both on the same worker. */
type Tables = readonly [string] | readonly [string, string];

/** `select` gets the names of the tables, or of a shard of each. */
type OfShards = { readonly tables: Tables; readonly select: (...shards: readonly string[]) => string };

/**
 * Reads over all entities. If a worker of Citus is down, it returns the rows of the entities that can be reached. Citus
 * itself rejects a statement that needs a worker which is down.
 */
export async function readReachable<Row>(
  db: Database,
  read: (reads: Pick<Reads, 'all'>) => Promise<Row[]>,
  { tables, select }: OfShards,
): Promise<Row[]> {
  try {
    return await read(db);
  } catch (error) {
    if (!db.dialect.isDistributed || !(error instanceof StoreUnavailableError)) throw error;
    return readEachShard(db, { tables, select }, error);
  }
}

/** Sorts heads by a time, because the heads of several shards come one shard after another. */
export function inOrderOf<Head extends { readonly entity: SqlUuid; readonly webhookNo: number }>(
  { dialect }: Database,
  heads: Head[],
  timeOf: (head: Head) => number,
): Head[] {
  if (!dialect.isDistributed) return heads;
  const nameOf = ({ entity }: Head) => dialect.hexOf(entity);
  return heads.sort(
    (a, b) =>
      timeOf(a) - timeOf(b) || (nameOf(a) === nameOf(b) ? a.webhookNo - b.webhookNo : nameOf(a) < nameOf(b) ? -1 : 1),
  );
}

/**
 * Reads each shard by itself, on Citus. This also serves statements that Citus cannot plan over all shards. The command takes no
 * parameters, so `select` must contain only text that the store itself has made.
 */
export async function readEachShard<Row>(
  db: Database,
  { tables, select }: OfShards,
  cause = new StoreUnavailableError('no worker of Citus responds'),
): Promise<Row[]> {
  const run = tables.length === 1 ? 'run_command_on_placements' : 'run_command_on_colocated_placements';
  const shards = await db.all<{ result: string }>(
    `select result from ${run}(${tables.map((table) => `'${table}'`).join(', ')},
       $command$ select coalesce(json_agg(found), '[]') from (${select('%1$s', '%2$s')}) found $command$) where success`,
  );
  // No worker can be reached, which is an outage like any other.
  if (shards.length === 0) throw cause;
  return shards.flatMap(({ result }) => JSON.parse(result) as Row[]);
}
