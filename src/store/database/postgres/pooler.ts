import type { SQL } from 'bun';
import { connect, type PostgresTarget } from './session.ts';

/**
 * Whether a pooler such as PgBouncer stands before PostgreSQL, and how it shares the connections of the server. A pooler takes no
 * settings of the server when a connection is opened, and a connection that is shared by transaction cannot listen.
 */
export type Pooler = 'none' | 'by session' | 'by transaction';

/** A pooler that Paybell cannot work with, and what to set. */
export class PoolerError extends Error {
  override readonly name = 'PoolerError';
}

const APPLICATION = { application_name: 'paybell' };
/** How often to check for a shared connection. Another client may take the connection of the server between two statements. */
const LOOKS = 5;
/** The prepared statement does not exist, or its name belongs to a statement of another connection. */
const PREPARED_ERRORS: readonly string[] = ['26000', '42P05'];

/** Settings of the server by name. A number is a time in milliseconds. */
export type ServerSettings = Readonly<Record<string, number | string>>;

/** Settings for each connection of a pool. */
export function connectionSettings(pooler: Pooler, settings: ServerSettings) {
  return pooler === 'none' ? { ...APPLICATION, ...settings } : APPLICATION;
}

/** Finds how the pooler shares connections. Call it only if connections do not take settings. */
export async function findPooler(target: PostgresTarget): Promise<Exclude<Pooler, 'none'>> {
  const [one, other] = [connect(target, 1, APPLICATION), connect(target, 1, APPLICATION)];
  try {
    await requirePreparedStatements(one, other);
    return await findMode(one, other);
  } finally {
    await Promise.all([one, other].map((client) => client.close({ timeout: 0 })));
  }
}

/** Whether connections have the settings with which they were opened. A pooler rejects the settings, or ignores them if configured to. */
export async function takesSettings(client: SQL, settings: ServerSettings): Promise<boolean> {
  // Reads each setting by its name, because the view of all settings takes milliseconds.
  const columns = Object.entries(settings).map(([name, value]) =>
    typeof value === 'number'
      ? `extract(epoch from cast(current_setting('${name}') as interval)) * 1000 as ${name}`
      : `current_setting('${name}') as ${name}`,
  );
  try {
    const [found] = await client.unsafe(`select ${columns.join(', ')}`);
    return Object.entries(settings).every(([name, value]) =>
      typeof value === 'number' ? Number(found[name]) === value : found[name] === value,
    );
  } catch (error) {
    if (/unsupported startup parameter/.test(messageOf(error))) return false;
    throw error;
  }
}

/** Fails if the pooler mixes up prepared statements: the first statement of each connection has the same name. */
async function requirePreparedStatements(one: SQL, other: SQL): Promise<void> {
  try {
    await one.unsafe('select cast($1 as integer) as first', [1]);
    await other.unsafe('select cast($1 as integer) as second', [1]);
  } catch (error) {
    if (!PREPARED_ERRORS.includes(stateOf(error))) throw error;
    throw new PoolerError(
      'The pooler before PostgreSQL does not keep prepared statements: use PgBouncer 1.21 or later with ' +
        'max_prepared_statements above 0, or pool_mode = session',
      { cause: error },
    );
  }
}

/**
 * Finds whether a second client gets the server connection that the first client has just returned. A pooler by session keeps it
 * for the first client.
 */
async function findMode(one: SQL, other: SQL): Promise<Exclude<Pooler, 'none'>> {
  const pidOf = async (client: SQL) => (await client.unsafe('select pg_backend_pid() as pid'))[0].pid as number;
  try {
    for (let look = 0; look < LOOKS; look++) {
      const pid = await pidOf(one);
      await other.unsafe('begin');
      const isShared = (await pidOf(other)) === pid;
      await other.unsafe('commit');
      if (isShared) return 'by transaction';
    }
    return 'by session';
  } catch (error) {
    if (!/statement pooling mode/.test(messageOf(error))) throw error;
    throw new PoolerError('The pooler before PostgreSQL allows no transactions: set pool_mode = transaction', {
      cause: error,
    });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : '';
}

function stateOf(error: unknown): string {
  return error instanceof Error && 'errno' in error ? String(error.errno) : '';
}
