import { type Dialect, type SqlValue, TRANSACTION_LIMITS } from '../database.ts';

export const dialect: Omit<Dialect, 'leaseClock'> = {
  uuid: 'uuid',
  bindUuid: (hex) => hex,
  hexOf: (uuid) => (uuid as string).replace(/-/g, ''),
  timeOfUuid: (expression) =>
    `cast(cast('x' || substr(replace(cast(${expression} as text), '-', ''), 1, 12) as bit(48)) as bigint)`,
  storage: {
    clustered: '',
    // Half of each page stays free, so that a claim rewrites its row on the same page and touches no index.
    updatedInPlace: `with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
      autovacuum_vacuum_cost_delay = 0)`,
  },
  bootstrap: [
    // "binary" compares by bytes, as SQLite's collation of that name does, whatever the locale of the database.
    `do $do$ begin
       if not exists (select from pg_collation where collname = 'binary' and collnamespace = current_schema::regnamespace)
       then create collation "binary" (provider = libc, locale = 'C'); end if;
     end $do$`,
  ],
  // The number is arbitrary and only has to be the same for every instance ("payb" in ASCII).
  lockStore: ['set local statement_timeout = 0', 'select pg_advisory_xact_lock(1885436258)'],
  // Finds the settings in the catalogue, because not every version has all of them. A process that stands still for longer than a
  // minute loses its migration, so that it does not keep every other instance from starting.
  allowLongTransaction: [
    `select set_config(name, '0', true) from pg_settings
     where name in ('statement_timeout', 'lock_timeout', 'transaction_timeout')`,
    `set local idle_in_transaction_session_timeout = '1min'`,
  ],
  lockSecrets: [
    `lock table signing_secrets, signing_keys, endpoint_secrets, endpoint_headers, endpoint_certificates,
       listen_sessions in share row exclusive mode`,
  ],
  nowMs: 'cast(extract(epoch from statement_timestamp()) * 1000 as bigint)',
  isDistributed: false,
  silentWorkers: () => [],
  hasWorker: () => true,
  onWorker: () => undefined,
  limits: TRANSACTION_LIMITS,
  ofEntity: () => '',
  lockRow: 'for update',
  skipLocked: 'for update skip locked',
  planForClaims: `select ${['bitmapscan', 'seqscan', 'sort', 'hashjoin', 'mergejoin']
    .map((method) => `set_config('enable_${method}', 'off', true)`)
    .join(', ')}, cast(extract(epoch from statement_timestamp()) * 1000 as bigint) as now_ms`,
  lookUp: (join, table, alias, key) => {
    const row = `(select * from ${table} ${alias} where ${byIndex(alias, Object.entries(key))})`;
    return `${join} lateral ${row} ${alias}${join === 'left join' ? ' on true' : ''}`;
  },
  firstOf: (table, alias, key, { by, limit }) => {
    const [[column, value] = [], ...others] = Object.entries(key);
    const row = (values: readonly string[]) => `(${values.join(', ')})`;
    const columns = others.map(([name]) => `${alias}.${name}`);
    const [left, right] = [row(columns), row(others.map(([, given]) => given))];
    // Compared as a row and not by `=`, so that only the index of the whole key gives the order: see `byIndex`.
    return `cross join lateral (select * from ${table} ${alias}
      where ${alias}.${column} = ${value} and ${left} >= ${right} and ${left} <= ${right}
      order by ${[...columns, `${alias}.${by}`].join(', ')} limit ${limit}) ${alias}`;
  },
  rowsOf: (table, list, key, skipLocked) => {
    const values = key.map((column) => [column, `${list}.${column}`] as const);
    const lock = skipLocked === undefined ? '' : ` for update ${skipLocked}`;
    const row = `select ${table}.ctid as place from ${table} where ${byIndex(table, values)}${lock}`;
    return {
      from: `(select ${list}.*, found.place from ${list} cross join lateral (${row}) found) ${list}`,
      where: `${table}.ctid = ${list}.place`,
    };
  },
  rowList: {
    text: (types) =>
      `select * from unnest(${types.map((type, column) => `cast($${column + 1} as ${type}[])`).join(', ')})`,
    bind: (types, values) => types.map((type, column) => arrayOf(type, column, types.length, values)),
  },
  byIndex: () => '',
  contains: (text, part) => `strpos(${text}, ${part}) > 0`,
  addCounts: (counts, more) => `(select ${jsonOf('key', 'total')} from (
    select key, sum(cast(value as bigint)) as total from (
      select * from json_each_text(cast(${counts} as json)) union all select * from json_each_text(cast(${more} as json))
    ) both_counts group by key) sums)`,
  findTable: 'select tablename from pg_tables where schemaname = current_schema and tablename = $1',
  storeBytes: 'pg_database_size(current_database())',
};

/** JSON without the spaces that PostgreSQL writes, as SQLite has it. */
function jsonOf(key: string, value: string): string {
  return `replace(cast(json_object_agg(${key}, ${value}) as text), ' ', '')`;
}

/**
 * Forces the index on these columns. With sorting disabled (`planForClaims`), only that index returns the last column
 * in order. The condition has two equal bounds instead of `=`, because with `=` PostgreSQL would need no order.
 */
function byIndex(alias: string, key: readonly (readonly [column: string, value: string])[]): string {
  const [last = '', value = ''] = key.at(-1) ?? [];
  const conditions = [
    ...key.slice(0, -1).map(([column, equal]) => `${alias}.${column} = ${equal}`),
    `${alias}.${last} >= ${value}`,
    `${alias}.${last} <= ${value}`,
  ];
  return `${conditions.join(' and ')} order by ${alias}.${last} limit 1`;
}

/** The array of a column, of values that are given row by row. */
function arrayOf(type: string, column: number, columns: number, values: readonly SqlValue[]): string {
  const items: string[] = [];
  let before: SqlValue = null;
  let item = 'null';
  for (let at = column; at < values.length; at += columns) {
    const value = values[at] ?? null;
    // Many columns have the same value in all rows, so the text of the last value is kept.
    if (value !== before) {
      before = value;
      item = value === null ? 'null' : type === 'text' ? quoted(String(value)) : String(value);
    }
    items.push(item);
  }
  return `{${items.join(',')}}`;
}

const SPECIAL = /["\\]/;

function quoted(text: string): string {
  return SPECIAL.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : `"${text}"`;
}
