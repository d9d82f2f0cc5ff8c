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
  const command = `$command$ select coalesce(json_agg(found), '[]') from (${select('%1$s', '%2$s')}) found $command$`;
  const shards = await db.all<{ result: string }>(ofShards(tables, command, db.dialect.silentWorkers()));
  // No worker can be reached, which is an outage like any other.
  if (shards.length === 0) throw cause;
  return shards.flatMap(({ result }) => JSON.parse(result) as Row[]);
}

/** As `run_command_on_placements` of Citus, which would wait for a worker that hangs. */
function ofShards([table, other = table]: Tables, command: string, silent: readonly string[]): string {
  if (silent.length === 0) {
    const run = table === other ? 'run_command_on_placements' : 'run_command_on_colocated_placements';
    const tables = [...new Set([table, other])].map((one) => `'${one}'`).join(', ');
    return `select result from ${run}(${tables},
       ${command}) where success`;
  }
  const names = silent.map((name) => `'${name.replaceAll("'", "''")}'`).join(', ');
  return `select ran.result from (
       select array_agg(cast(n.nodename as text)) as names, array_agg(n.nodeport) as ports,
         array_agg(format(${command}, shard_name(s.logicalrelid, s.shardid), shard_name(o.logicalrelid, o.shardid))) as commands
       from pg_dist_shard s
         join pg_dist_shard o on o.logicalrelid = cast('${other}' as regclass) and o.shardminvalue = s.shardminvalue
         join pg_dist_placement p on p.shardid = s.shardid
         join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
       where s.logicalrelid = cast('${table}' as regclass) and n.nodename || ':' || n.nodeport not in (${names})
     ) placed, master_run_on_worker(placed.names, placed.ports, placed.commands, true) ran where ran.success`;
}
