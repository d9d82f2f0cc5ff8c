import { Database as SqliteConnection } from 'bun:sqlite';
import { dirname, join } from 'node:path';
import { SQL } from 'bun';
import type { DatabaseTarget } from '../../src/config/database-target.ts';
import { EVENT_KINDS } from '../../src/domain/event-kinds.ts';
import { hashApiKey, lastFour, makeApiKey, PERMISSIONS } from '../../src/domain/keys/api-keys.ts';
import { DEFAULT_NETWORKS } from '../../src/domain/networks.ts';
import { chunks, valuesList } from '../../src/store/database/sql.ts';
import type { Caller } from '../harness/paybell-api.ts';
import { createPostgresDatabase } from '../harness/postgres.ts';
import { BENCH_SECRET_KEY, runPaybell, tempFolder } from '../harness/processes.ts';

/** Fills stores of any size by SQL that generates the rows from a series of numbers: millions of rows in seconds. */

/** The folder is an empty text on PostgreSQL. */
export type Store = { readonly databaseUrl: string; readonly folder: string };
export type Engine = DatabaseTarget['engine'];

const CREATED_AT = 1_763_168_400;
const ROWS_PER_INSERT = 200_000;
export const WEBHOOKS_EACH = 100;

/** The same index always gives the same entity and key, so that no list of a hundred thousand has to be kept. */
export function callerOf(index: number): Caller {
  let drawn = 0;
  const bytes = (count: number) =>
    new Uint8Array(new Bun.CryptoHasher('sha512').update(`caller ${index} ${drawn++}`).digest().subarray(0, count));
  return { entityId: `ent_${index.toString(16).padStart(32, '0')}`, apiKey: makeApiKey(bytes) };
}

/** One row of a series: `e` numbers the entity and `w` its webhook; both are columns of the generated series. */
export type RowRule = { readonly network: string; readonly event: string; readonly url: string };

function pick(values: readonly (string | number)[], index: string): string {
  const cases = values.map((value, at) => `when ${at} then ${typeof value === 'string' ? `'${value}'` : value}`);
  return `case (${index}) % ${values.length} ${cases.join(' ')} end`;
}

/** An ordinary entity: every known network and event, each under several URLs. */
export const ORDINARY: RowRule = {
  network: pick(DEFAULT_NETWORKS, 'w'),
  event: pick(EVENT_KINDS, `w / ${DEFAULT_NETWORKS.length}`),
  url: `'https://hooks' || ((w * 37) % 100) || '.shop-' || e || '.example.com/paybell/' || w`,
};

type Connection = {
  readonly run: (sql: string, params?: readonly (string | number | null)[]) => Promise<unknown>;
  readonly number: (sql: string) => Promise<number>;
  readonly finish: () => Promise<void>;
};

export type Plan = { readonly entities: number; readonly webhooksEach: number; readonly rule: RowRule };

export async function seedStore(engine: Engine, plan: Plan, progress: (done: string) => void): Promise<Store> {
  const target = await newTarget(engine);
  const databaseUrl = target.engine === 'sqlite' ? `sqlite:${target.file}` : target.url;
  await runPaybell(['migrate'], { DATABASE_URL: databaseUrl, SECRET_KEY: BENCH_SECRET_KEY });
  const connection = target.engine === 'sqlite' ? openSqlite(target.file) : openPostgres(target.url);
  await insertEntities(connection, plan);
  const rows = plan.entities * plan.webhooksEach;
  for await (const done of insertWebhooks(connection, engine, plan)) {
    progress(`${done.toLocaleString('en')} of ${rows.toLocaleString('en')} webhooks on ${engine}`);
  }
  await fillCounters(connection, rows);
  await connection.finish();
  return { databaseUrl, folder: target.engine === 'sqlite' ? dirname(target.file) : '' };
}

async function newTarget(engine: Engine): Promise<DatabaseTarget> {
  if (engine === 'postgres') return { engine, url: await createPostgresDatabase() };
  return { engine, file: join(tempFolder(), 'paybell.db') };
}

/** Not durable, for speed: Paybell sets its own, durable pragmas when it opens the file. */
function openSqlite(file: string): Connection {
  const connection = new SqliteConnection(file);
  const pragmas = ['journal_mode = delete', 'journal_mode = off', 'synchronous = off', 'cache_size = -500000'];
  for (const pragma of pragmas) connection.exec(`pragma ${pragma}`);
  return {
    run: async (sql, params = []) => connection.query(sql.replace(/\$(\d+)/g, '?$1')).run(...params),
    number: async (sql) => Number(Object.values(connection.query(sql).get() as Record<string, number>)[0]),
    finish: async () => connection.close(),
  };
}

function openPostgres(url: string): Connection {
  const client = new SQL(url, { max: 1 });
  const run = (sql: string, params: readonly (string | number | null)[] = []) => client.unsafe(sql, [...params]);
  return {
    run,
    number: async (sql) => Number(Object.values((await run(sql))[0] as Record<string, string>)[0]),
    finish: async () => {
      // Autovacuum would have done this by the time of the first request.
      await client.unsafe('vacuum analyze');
      await client.close();
    },
  };
}

async function insertEntities({ run }: Connection, { entities, webhooksEach }: Plan): Promise<void> {
  const permissions = PERMISSIONS.join(',');
  await run('begin');
  for (const chunk of chunks(Array.from({ length: entities }, (_, index) => index))) {
    const callers = chunk.map((index) => ({ index, ...callerOf(index) }));
    await run(
      `insert into entities (id, name, revision, webhooks_dated_at, created_at) values ${valuesList(chunk.length, 5)}`,
      callers.flatMap(({ index, entityId }) => [entityId, `Shop ${index}`, webhooksEach, CREATED_AT, CREATED_AT]),
    );
    await run(
      `insert into api_keys (entity_id, id, key_hash, last_four, name, permissions, created_at)
       values ${valuesList(chunk.length, 7)}`,
      callers.flatMap(({ entityId, apiKey }) => [
        entityId,
        entityId.replace('ent', 'key'),
        hashApiKey(apiKey),
        lastFour(apiKey),
        'Bench',
        permissions,
        CREATED_AT,
      ]),
    );
  }
  await run('commit');
}

async function* insertWebhooks(connection: Connection, engine: Engine, plan: Plan): AsyncGenerator<number> {
  const { entities, webhooksEach } = plan;
  const entitiesPerInsert = Math.max(1, Math.floor(ROWS_PER_INSERT / webhooksEach));
  const webhooksPerInsert = Math.min(webhooksEach, ROWS_PER_INSERT);
  for (let e = 0; e < entities; e += entitiesPerInsert) {
    const lastEntity = Math.min(e + entitiesPerInsert, entities) - 1;
    for (let w = 0; w < webhooksEach; w += webhooksPerInsert) {
      const lastWebhook = Math.min(w + webhooksPerInsert, webhooksEach) - 1;
      await connection.run(insertSeries(engine, plan.rule, [e, lastEntity], [w, lastWebhook]));
      yield lastEntity * webhooksEach + lastWebhook + 1;
    }
  }
}

type Range = readonly [first: number, last: number];

function insertSeries(engine: Engine, { network, event, url }: RowRule, entities: Range, webhooks: Range): string {
  const sqlite = engine === 'sqlite';
  const hex = (column: string, digits: number) =>
    sqlite ? `printf('%0${digits}x', ${column})` : `lpad(to_hex(${column}), ${digits}, '0')`;
  const series = (name: string, [first, last]: Range) =>
    sqlite
      ? `${name} (${name}) as (select ${first} union all select ${name} + 1 from ${name} where ${name} < ${last})`
      : `${name} as (select ${name} from generate_series(${first}::bigint, ${last}) ${name})`;
  const begin = `insert into webhooks (entity_id, id, network_id, event, post_url, created_seq, created_at)
    with ${sqlite ? 'recursive' : ''} ${series('e', entities)}, ${series('w', webhooks)}`;
  return `${begin}
    select 'ent_' || ${hex('e', 32)}, 'wh_' || ${hex('e', 16)} || ${hex('w', 16)}, ${network}, ${event}, ${url},
      w + 1, ${CREATED_AT} + w / 1000
    from e cross join w`;
}

async function fillCounters({ run, number }: Connection, rows: number): Promise<void> {
  await run(
    `insert into webhook_counts (entity_id, network_id, event, webhooks)
     select entity_id, network_id, event, count(*) from webhooks group by entity_id, network_id, event`,
  );
  const counted = await number('select sum(webhooks) from webhook_counts');
  const inserted = await number('select count(*) from webhooks');
  if (counted !== rows || inserted !== rows)
    throw new Error(`Inserted ${inserted} and counted ${counted} of ${rows} webhooks`);
}
