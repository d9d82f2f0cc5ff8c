import type { Database, SqlInteger } from './database.ts';
import { DISTRIBUTE_FUNCTIONS, functionsText } from './postgres/citus.ts';

/**
 * How each table is distributed on Citus. Tables that grow with events and deliveries are distributed by their column
 * `entity_id`, so that all rows of an entity are on one worker. Small tables stay on the coordinator, so that a change
 * needs no worker. If one statement reads a small table together with distributed rows, it is a `reference` table: each
 * worker has a copy, and a change needs all workers.
 */
export type Distribution = 'on the coordinator' | 'reference' | 'by entity';

/** The tables in the order in which they are distributed: a table comes after the tables that it refers to. */
export const DISTRIBUTIONS: Readonly<Record<string, Distribution>> = {
  schema_migrations: 'on the coordinator',
  instances: 'on the coordinator',
  entities: 'reference',
  api_keys: 'on the coordinator',
  audit: 'on the coordinator',
  signing_secrets: 'on the coordinator',
  signing_keys: 'on the coordinator',
  endpoint_secrets: 'reference',
  endpoint_headers: 'reference',
  endpoint_certificates: 'reference',
  webhooks: 'reference',
  webhook_counts: 'on the coordinator',
  webhook_health: 'on the coordinator',
  payload_filters: 'on the coordinator',
  option_changes: 'reference',
  redeliveries: 'on the coordinator',
  sources: 'on the coordinator',
  source_addresses: 'on the coordinator',
  invoices: 'on the coordinator',
  chains: 'reference',
  chain_anchors: 'on the coordinator',
  chain_accounts: 'on the coordinator',
  chain_tokens: 'on the coordinator',
  chain_alerts: 'on the coordinator',
  facts: 'reference',
  fact_events: 'reference',
  events: 'by entity',
  event_ids: 'by entity',
  event_counts: 'by entity',
  event_day_counts: 'by entity',
  tasks: 'by entity',
  subjects: 'by entity',
  supersedable: 'by entity',
  order_keys: 'by entity',
  queue: 'by entity',
  queue_heads: 'by entity',
  queue_counts: 'by entity',
  deliveries: 'by entity',
  delivery_counts: 'by entity',
  attempts: 'by entity',
  endpoints: 'by entity',
  endpoint_sequences: 'by entity',
  endpoint_numbers: 'by entity',
  endpoint_alerts: 'by entity',
  listen_sessions: 'by entity',
  listen_requests: 'by entity',
  interval_stats: 'by entity',
};

/** The tables that `distribute` changes. */
export const DISTRIBUTED = Object.keys(DISTRIBUTIONS).filter((table) => DISTRIBUTIONS[table] !== 'on the coordinator');

/** The first table by entity, with which all other such tables are colocated. */
const FIRST = 'events';

const DISTRIBUTION_DEADLINE_MS = 30 * 60_000;

/** The reason why the tables cannot be distributed, and what to do about it. */
export class DistributionError extends Error {
  override readonly name = 'DistributionError';
}

export type Citus = {
  readonly version: string;
  /** Servers that take rows, without the coordinator. */
  readonly workers: readonly { readonly name: string; readonly isActive: boolean }[];
  readonly isCoordinatorKnown: boolean;
  /** The tables that are distributed already. */
  readonly distributed: ReadonlySet<string>;
};

/** Null if the extension is not installed in this database. */
export async function readCitus(db: Database): Promise<Citus | null> {
  if (db.engine === 'sqlite') return null;
  const extension = await db.get<{ version: string }>(
    `select extversion as version from pg_extension where extname = 'citus'`,
  );
  if (extension === undefined) return null;
  const nodes = await db.all<{ name: string; port: SqlInteger; active: SqlInteger; group: SqlInteger }>(
    `select nodename as name, nodeport as port, case when isactive then 1 else 0 end as active, groupid as "group"
     from pg_dist_node where noderole = 'primary' order by nodeid`,
  );
  const tables = await db.all<{ name: string }>(
    `select c.relname as name from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
     where c.relnamespace = current_schema::regnamespace and (p.partmethod = 'h' or p.repmodel = 't')`,
  );
  const workers = nodes.filter(({ group }) => Number(group) !== 0);
  return {
    version: extension.version,
    workers: workers.map(({ name, port, active }) => ({ name: `${name}:${port}`, isActive: Number(active) === 1 })),
    isCoordinatorKnown: workers.length < nodes.length,
    distributed: new Set(tables.map(({ name }) => name)),
  };
}

/** The workers that do not respond to the coordinator. Citus itself still lists them as active. */
export async function findUnreachableWorkers(db: Database): Promise<string[]> {
  try {
    const workers = await db.all<{ name: string; port: SqlInteger }>(
      `select nodename as name, nodeport as port from run_command_on_workers('select 1') where not success`,
    );
    return workers.map(({ name, port }) => `${name}:${port}`);
  } catch (error) {
    // A worker that hangs lets the command fail.
    const silent = db.dialect.silentWorkers();
    if (silent.length === 0) throw error;
    return [...silent];
  }
}

export type DistributedTable = {
  readonly table: string;
  readonly distribution: Distribution;
  /** False if the table was distributed before. */
  readonly isNew: boolean;
};

/**
 * Distributes the remaining tables, each in a separate transaction. After an interruption, the next run continues. No
 * process may use the store during this, because processes look for distributed tables only when they start.
 */
export async function distribute(db: Database): Promise<DistributedTable[]> {
  const citus = await readCitus(db);
  requireWorkers(citus);
  if (!db.dialect.isDistributed) await makeFunctions(db);
  const done: DistributedTable[] = [];
  for (const [table, distribution] of Object.entries(DISTRIBUTIONS)) {
    const isNew = distribution !== 'on the coordinator' && !citus.distributed.has(table);
    if (isNew) await distributeTable(db, table, distribution);
    done.push({ table, distribution, isNew });
  }
  return done;
}

function requireWorkers(citus: Citus | null): asserts citus is Citus {
  if (citus === null) {
    throw new DistributionError(
      'This database has no Citus: install the extension on every server, and run "create extension citus" in this database',
    );
  }
  if (!citus.isCoordinatorKnown) {
    throw new DistributionError(
      'Citus does not know the address of this server: run "select citus_set_coordinator_host(\'<host>\', <port>)"',
    );
  }
  if (!citus.workers.some(({ isActive }) => isActive)) {
    throw new DistributionError('Citus has no worker: run "select citus_add_node(\'<host>\', <port>)" for each worker');
  }
}

/** Runs before the tables are distributed, because statements call the functions from then on. */
function makeFunctions(db: Database): Promise<void> {
  return db.transaction(async (queries) => {
    for (const sql of db.dialect.lockStore) await queries.run(sql);
    for (const sql of functionsText(db.dialect)) await queries.run(sql);
    for (const sql of DISTRIBUTE_FUNCTIONS) await queries.all(sql);
  });
}

type Distributing = Exclude<Distribution, 'on the coordinator'>;

function distributeTable(db: Database, table: string, distribution: Distributing): Promise<void> {
  return db.transaction(
    async (queries) => {
      for (const sql of [...db.dialect.allowLongTransaction, ...db.dialect.lockStore]) await queries.run(sql);
      // Citus changes a table together with the tables that refer to it, which needs a single connection to each server.
      await queries.run(`set local citus.multi_shard_modify_mode to 'sequential'`);
      await queries.all(statementFor(table, distribution));
    },
    { deadlineMs: DISTRIBUTION_DEADLINE_MS },
  );
}

function statementFor(table: string, distribution: Distributing): string {
  if (distribution === 'reference') return `select create_reference_table('${table}')`;
  const colocated = table === FIRST ? 'none' : FIRST;
  return `select create_distributed_table('${table}', 'entity_id', colocate_with => '${colocated}')`;
}
