import { describe, expect, test } from 'bun:test';
import { STORE_DEADLINE_MS } from '../../../src/store/database/database.ts';
import { MIGRATIONS, migrate } from '../../../src/store/database/migrate.ts';
import { openPostgres } from '../../../src/store/database/postgres/postgres.ts';
import { migrateStore } from '../../../src/store/open-store.ts';
import { PgBouncer } from '../../support/pgbouncer.ts';
import { createDirectDatabase } from '../../support/postgres.ts';
import { rejection } from '../../support/rejection.ts';
import { needs, PGBOUNCER, settingOf } from '../../support/requirements.ts';
import { until } from '../../support/until.ts';

const TIMEOUT = `${STORE_DEADLINE_MS / 1_000 - 1}s`;

const BINARY = settingOf(PGBOUNCER) ?? '';

const withPgBouncer = (title: string, run: (binary: string) => Promise<void>) =>
  test.skipIf(!PGBOUNCER.isMet)(`${title} ${needs(PGBOUNCER)}`, () => run(BINARY));

describe('a pooler before PostgreSQL', () => {
  withPgBouncer('that shares connections by transaction needs another URL to listen', async (binary) => {
    const url = await createDirectDatabase();
    await using pooler = await PgBouncer.start(binary, url, { pool_mode: 'transaction' });
    const db = await openPostgres({ url: pooler.urlOf(url) });
    expect(await rejection(db.onWork(() => undefined))).toMatchObject({
      name: 'PoolerError',
      message: expect.stringContaining('set LISTEN_DATABASE_URL'),
    });
    await db.close();
  });

  withPgBouncer('that shares connections by transaction gives each transaction its timeouts', async (binary) => {
    const url = await createDirectDatabase();
    await using pooler = await PgBouncer.start(binary, url, { pool_mode: 'transaction' });
    const db = await openPostgres({ url: pooler.urlOf(url), listenUrl: url });
    const sql = `select current_setting('statement_timeout') as timeout`;
    expect(await db.transaction((queries) => queries.get(sql))).toEqual({ timeout: TIMEOUT });
    expect(await db.snapshot((queries) => queries.get(sql))).toEqual({ timeout: TIMEOUT });
    expect(await db.get(sql)).toEqual({ timeout: '0' });
    let woken = 0;
    await db.onWork(() => woken++);
    await db.announceWork();
    await until('the work is heard of', () => woken > 0);
    await db.close();
  });

  withPgBouncer('that shares connections by transaction gives each transaction JIT off', async (binary) => {
    const url = await createDirectDatabase();
    await using pooler = await PgBouncer.start(binary, url, { pool_mode: 'transaction' });
    const db = await openPostgres({ url: pooler.urlOf(url), listenUrl: url });
    expect(await db.transaction((queries) => queries.get('show jit'))).toEqual({ jit: 'off' });
    expect(await db.snapshot((queries) => queries.get('show jit'))).toEqual({ jit: 'off' });
    await db.close();
  });

  withPgBouncer('that shares connections by session gives each transaction JIT off', async (binary) => {
    const url = await createDirectDatabase();
    await using pooler = await PgBouncer.start(binary, url, { pool_mode: 'session' });
    const db = await openPostgres({ url: pooler.urlOf(url) });
    expect(await db.transaction((queries) => queries.get('show jit'))).toEqual({ jit: 'off' });
    expect(await db.snapshot((queries) => queries.get('show jit'))).toEqual({ jit: 'off' });
    await db.close();
  });

  withPgBouncer('is passed by migrations, one of which failed before', async (binary) => {
    const url = await createDirectDatabase();
    await using pooler = await PgBouncer.start(binary, url, { pool_mode: 'transaction', default_pool_size: '1' });
    const target = { engine: 'postgres', url: pooler.urlOf(url), listenUrl: url } as const;
    const db = await openPostgres(target);
    const broken = { version: 1_000, name: 'broken', statements: ['create nonsense'] };
    await rejection(migrate(db, [...MIGRATIONS, broken]));
    expect(await migrateStore(db, target)).toHaveLength(MIGRATIONS.length);
    await db.close();
  });

  withPgBouncer('that shares connections by session can also listen', async (binary) => {
    const url = await createDirectDatabase();
    await using pooler = await PgBouncer.start(binary, url, { pool_mode: 'session' });
    const db = await openPostgres({ url: pooler.urlOf(url) });
    let woken = 0;
    await db.onWork(() => woken++);
    await db.announceWork();
    // Throws if the announcement does not pass the pooler.
    await until('the work is heard of', () => woken > 0);
    await db.close();
  });

  withPgBouncer('that ignores the settings of a connection is noticed too', async (binary) => {
    const url = await createDirectDatabase();
    const ignored = 'statement_timeout,idle_in_transaction_session_timeout,jit';
    const settings = { pool_mode: 'transaction', ignore_startup_parameters: ignored };
    await using pooler = await PgBouncer.start(binary, url, settings);
    const db = await openPostgres({ url: pooler.urlOf(url) });
    const sql = `select current_setting('statement_timeout') as timeout`;
    expect(await db.transaction((queries) => queries.get(sql))).toEqual({ timeout: TIMEOUT });
    expect(await db.transaction((queries) => queries.get('show jit'))).toEqual({ jit: 'off' });
    await db.close();
  });

  test.skipIf(!PGBOUNCER.isMet).each([
    [{ pool_mode: 'statement' }, 'set pool_mode = transaction'],
    [
      { pool_mode: 'transaction', max_prepared_statements: '0' },
      'PgBouncer 1.21 or later with max_prepared_statements',
    ],
  ])(`with %j is refused with what to set ${needs(PGBOUNCER)}`, async (settings: Record<string, string>, advice) => {
    const url = await createDirectDatabase();
    await using pooler = await PgBouncer.start(BINARY, url, settings);
    expect(await rejection(openPostgres({ url: pooler.urlOf(url) }))).toMatchObject({
      name: 'PoolerError',
      message: expect.stringContaining(advice),
    });
  });
});

test('without a pooler, every connection has its timeouts', async () => {
  const db = await openPostgres({ url: await createDirectDatabase(), pool: 8 });
  const sql = `select current_setting('statement_timeout') as timeout`;
  expect(await db.get(sql)).toEqual({ timeout: TIMEOUT });
  expect(await db.transaction((queries) => queries.get(sql))).toEqual({ timeout: TIMEOUT });
  await db.close();
});

test('without a pooler, every connection has JIT off: single reads, transactions and snapshots', async () => {
  const db = await openPostgres({ url: await createDirectDatabase(), pool: 8 });
  expect(await db.get('show jit')).toEqual({ jit: 'off' });
  expect(await db.transaction((queries) => queries.get('show jit'))).toEqual({ jit: 'off' });
  expect(await db.snapshot((queries) => queries.get('show jit'))).toEqual({ jit: 'off' });
  await db.close();
});
