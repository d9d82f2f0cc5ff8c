import type { Database, Queries } from '../../src/store/database/database.ts';
import { DISTRIBUTIONS } from '../../src/store/database/distribution.ts';
import { citusDialect } from '../../src/store/database/postgres/citus.ts';
import { alteredQueries, alteredStore } from './stores.ts';

/** The store with the statements that it sends to Citus, which PostgreSQL runs too; their texts are added to the set. */
export function recordStatements(db: Database, texts: Set<string>): Database {
  const recorded = (queries: Queries): Queries =>
    alteredQueries(queries, {
      all: (sql, params) => queries.all(add(sql), params),
      get: (sql, params) => queries.get(add(sql), params),
      run: (sql, params) => queries.run(add(sql), params),
    });
  const add = (sql: string) => {
    texts.add(sql);
    return sql;
  };
  return alteredStore(db, {
    dialect: citusDialect(db.dialect),
    all: (sql, params) => readAsShard(db, sql) ?? db.all(add(sql), params),
    get: (sql, params) => db.get(add(sql), params),
    snapshot: (work) => db.snapshot((queries) => work(recorded(queries))),
    transaction: (work, options) => db.transaction((queries) => work(recorded(queries)), options),
  });
}

const SHARD_COMMAND = /run_command_on_(?:colocated_)?placements\('(\w+)'(?:, '(\w+)')?,\s*\$command\$(.*)\$command\$/s;

/** Runs the command for every shard on the tables, as if they were the only shard. Returns null on Citus and for other statements. */
function readAsShard<Row>(db: Database, sql: string): Promise<Row[]> | null {
  const [, first, second, command] = SHARD_COMMAND.exec(sql) ?? [];
  if (db.dialect.isDistributed || first === undefined || command === undefined) return null;
  const text = command.replaceAll('%1$s', first).replaceAll('%2$s', second ?? '');
  return db.all<Row>(`select cast((${text}) as text) as result`);
}

const TABLES = /\b(?:from|join|update|into|using)\s+(?:lateral\s+)?([a-z_]+)/g;
const NAMES_ENTITY = /\bentity_id (?:= (?:cast\()?\$\d+|in \(\$\d+\))/;
const CHANGES = /\b(?:update|delete from|insert into)\s+([a-z_]+)/;
const LISTS_ROWS = /^\s*insert into [a-z_]+\s+\([^)]*\)\s*values/;
/** A subselect whose entity is that of a row of another subselect. */
const CORRELATED = /\(select .*?\bfrom ([a-z_]+) (\w+)\s+where \2\.entity_id = \w+\.entity_id.*\bfrom \(select /s;
/** A subselect for a value that takes its entity from the outer row. Citus rejects it in a statement that locks rows. */
const CORRELATED_VALUE = /(?<!exists )\(select [^()]*\bfrom ([a-z_]+) (\w+)\s+where \2\.entity_id = \w+\.entity_id/;
const CLOCK = /timestamp\(\)|random\(/;

/** What Citus would refuse in a statement, or send to every worker; nothing for most. */
export function errorsOf(sql: string): string[] {
  const used = [...sql.matchAll(TABLES)].map(([, table = '']) => table);
  const isDistributed = (table: string) => DISTRIBUTIONS[table] === 'by entity';
  const distributed = used.filter(isDistributed);
  const errors: string[] = [];
  const local = used.filter((table) => DISTRIBUTIONS[table] === 'on the coordinator');
  if (distributed.length > 0 && local.length > 0) {
    errors.push(`${distributed[0]} is distributed, and ${local[0]} is on the coordinator`);
  }
  const changed = CHANGES.exec(sql)?.[1] ?? '';
  const copied = used.find((table) => table !== changed && DISTRIBUTIONS[table] === 'reference');
  if (DISTRIBUTIONS[changed] === 'on the coordinator' && copied !== undefined) {
    errors.push(`it changes ${changed}, which is on the coordinator, by rows of ${copied}, which is on every worker`);
  }
  const isLocking = / for update/.test(sql) && distributed.length > 0;
  const isChanging = isDistributed(changed) && !LISTS_ROWS.test(sql);
  if ((isLocking || isChanging) && !NAMES_ENTITY.test(sql)) errors.push('it changes or locks rows of no one entity');
  const conditional = [...sql.matchAll(/\bcase\b.*?\bend\b|\bcoalesce\([^()]*(?:\([^()]*\)[^()]*)*\)/gs)];
  if (distributed.length > 0 && conditional.some(([text]) => CLOCK.test(text))) {
    errors.push('the clock is read within case or coalesce');
  }
  const apart = CORRELATED.exec(sql) ?? (isLocking ? CORRELATED_VALUE.exec(sql) : null);
  if (isDistributed(apart?.[1] ?? '')) errors.push('a subselect does not name its entity by itself');
  return errors;
}
