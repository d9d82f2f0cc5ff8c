import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { App } from '../../../src/api/app.ts';
import { type Database, type Queries, StoreUnavailableError } from '../../../src/store/database/database.ts';
import { migrate } from '../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import { call, createTenant, type Tenant, testApp, WEBHOOKS } from '../../support/api.ts';
import { freePort } from '../../support/free-port.ts';
import { createDirectDatabase, createPostgresDatabase, TEST_DEADLINE_MS } from '../../support/postgres.ts';
import { rejection } from '../../support/rejection.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import { until } from '../../support/until.ts';

describe('a PostgreSQL server behind a failing connection', () => {
  let proxy: TcpProxy;
  let db: Database;
  /** The same database without the proxy, for whatever has to succeed on a busy machine too. */
  let direct: Database;
  let app: App;
  let tenant: Tenant;

  beforeAll(async () => {
    const url = new URL(await createPostgresDatabase());
    direct = await openDatabase({ engine: 'postgres', url: url.href, deadlineMs: TEST_DEADLINE_MS });
    await migrate(direct);
    tenant = await createTenant(direct);
    proxy = startTcpProxy(url.hostname, Number(url.port));
    url.port = String(proxy.port);
    db = await openDatabase({ engine: 'postgres', url: url.href });
    app = testApp(db);
  });

  afterAll(async () => {
    await direct.close();
    await db.close();
    proxy.stop();
  });

  const list = () => call(app, tenant, WEBHOOKS);
  const registration = { postUrl: 'https://example.com/hook', networkIds: [1], events: ['LatePayment'] };

  /** The service is not told: it has to recover by itself. */
  const untilItAnswers = () => until('it answers', async () => (await list()).status === 200);

  test('every call to a paused server ends with StoreUnavailableError, and every request with 503', async () => {
    proxy.pause();
    const calls = [
      db.get('select 1 as up'),
      db.snapshot((queries) => queries.get('select 1 as up')),
      db.transaction((queries) => queries.get('select 1 as up')),
    ];
    const [response, ready, ...outcomes] = await Promise.all([
      list(),
      call(app, null, '/readyz'),
      ...calls.map((pending) => pending.catch((error: unknown) => error)),
    ]);
    for (const outcome of outcomes) expect(outcome).toBeInstanceOf(StoreUnavailableError);
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toMatch(/^[1-9][0-9]*$/);
    expect(await response.json()).toMatchObject({ code: 'unavailable', status: 503 });
    expect(ready.status).toBe(503);
    expect((await call(app, null, '/healthz')).status).toBe(200);
    proxy.resume();
    await untilItAnswers();
    await until('it writes', async () => (await call(app, tenant, WEBHOOKS, { json: registration })).ok);
    await until('it is ready', async () => (await call(app, null, '/readyz')).ok);
  });

  test('closed connections fail at most the calls on them, and the next calls open new ones', async () => {
    await untilItAnswers();
    proxy.cut();
    const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await list()).status));
    for (const status of statuses) expect([200, 503]).toContain(status);
    await untilItAnswers();
  });

  test('a transaction whose connection is closed half-way leaves nothing behind', async () => {
    await untilItAnswers();
    const interrupted = db.transaction(async (queries) => {
      await queries.run(`update entities set name = 'Half' where id = $1`, [tenant.entityId]);
      proxy.cut();
      await queries.get('select 1 as up');
    });
    expect(await rejection(interrupted)).toBeInstanceOf(StoreUnavailableError);
    await untilItAnswers();
    expect(await direct.get('select name from entities where id = $1', [tenant.entityId])).toEqual({ name: 'Test' });
  });
});

describe('a PostgreSQL transaction past its deadline', () => {
  let url: URL;
  let db: Database;

  beforeAll(async () => {
    url = new URL(await createDirectDatabase());
    db = await openDatabase({ engine: 'postgres', url: url.href, deadlineMs: 60_000 });
  });

  afterAll(() => db.close());

  const sleep = (queries: Pick<Queries, 'get'>, seconds: number) =>
    queries.get<{ up: number }>(`select pg_sleep(${seconds}), 1 as up`);

  /** The server's processes for the connections of the pool, once all of them are open. */
  async function backends(): Promise<number[]> {
    await Promise.all(Array.from({ length: 64 }, () => sleep(db, 0.02)));
    const rows = await db.all<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and application_name = 'paybell' order by pid`,
    );
    return rows.map(({ pid }) => pid);
  }

  async function untilNoneSleeps(seconds: number): Promise<void> {
    await until('the statement is cancelled', async () => {
      const text = `%pg_sleep(${seconds})%`;
      const row = await db.get<{ running: number | string }>(
        `select count(*) as running from pg_stat_activity
         where datname = current_database() and state = 'active' and query like $1 and pid <> pg_backend_pid()`,
        [text],
      );
      return Number(row?.running) === 0;
    });
  }

  test('is known to the server, which ends its statements a second earlier', async () => {
    const settingOf = async (name: string) => db.get(`select current_setting('${name}') as value`);
    expect(await settingOf('statement_timeout')).toEqual({ value: '59s' });
    expect(await settingOf('idle_in_transaction_session_timeout')).toEqual({ value: '1min' });
  });

  test('is cancelled alone: calls on other connections and those that wait go on, and every connection stays', async () => {
    const before = await backends();
    const late = rejection(db.transaction((queries) => sleep(queries, 3.9), { deadlineMs: 200 }));
    const others = [
      ...Array.from({ length: 7 }, () => db.transaction((queries) => sleep(queries, 0.6))),
      ...Array.from({ length: 12 }, () => db.snapshot((queries) => sleep(queries, 0.3))),
      ...Array.from({ length: 100 }, () => sleep(db, 0.1)),
    ];
    expect(await late).toBeInstanceOf(StoreUnavailableError);
    expect((await Promise.all(others)).every((row) => row?.up === 1)).toBe(true);
    await untilNoneSleeps(3.9);
    expect(await backends()).toEqual(before);
  });

  test('is rolled back and sends nothing more, also where each of its statements is quick', async () => {
    await db.transaction((queries) => queries.run('create table if not exists quick (n int)'));
    const late = db.transaction(
      async (queries) => {
        for (let n = 0; n < 1_000; n++) {
          await queries.run('insert into quick values ($1)', [n]);
          await sleep(queries, 0.02);
        }
      },
      { deadlineMs: 200 },
    );
    expect(await rejection(late)).toBeInstanceOf(StoreUnavailableError);
    await untilNoneSleeps(0.02);
    expect(await db.all('select n from quick')).toEqual([]);
  });

  test('ended by the server, because this process stood still within it, is an outage and no error of ours', async () => {
    const stalled = db.transaction(async (queries) => {
      await queries.run(`set local idle_in_transaction_session_timeout = '50ms'`);
      // Nothing is sent, and no response of the server is read.
      Bun.sleepSync(500);
      await sleep(queries, 0);
    });
    expect(await rejection(stalled)).toBeInstanceOf(StoreUnavailableError);
    expect(await db.transaction((queries) => sleep(queries, 0))).toMatchObject({ up: 1 });
  });

  test('gives its place to the next one', async () => {
    for (let round = 0; round < 3; round++) {
      const late = Array.from({ length: 8 }, () =>
        rejection(db.transaction((queries) => sleep(queries, 3.8), { deadlineMs: 100 })),
      );
      for (const error of await Promise.all(late)) expect(error).toBeInstanceOf(StoreUnavailableError);
      expect(await db.transaction((queries) => sleep(queries, 0))).toMatchObject({ up: 1 });
    }
  });

  test('has its connection replaced if that does not respond to the cancel, and new calls get new ones', async () => {
    const proxy = startTcpProxy(url.hostname, Number(url.port));
    const proxied = new URL(url);
    proxied.port = String(proxy.port);
    // Reads on the connections that stand still end with this deadline.
    const frozen = await openDatabase({ engine: 'postgres', url: proxied.href, deadlineMs: 5_000 });
    const readMany = async () => {
      const reads = Array.from({ length: 40 }, () => sleep(frozen, 0.01).catch(() => undefined));
      return (await Promise.all(reads)).every((row) => row?.up === 1);
    };
    await until('its connections are open', readMany);
    proxy.freezeOpen();
    const late = frozen.transaction((queries) => sleep(queries, 0), { deadlineMs: 100 });
    expect(await rejection(late)).toBeInstanceOf(StoreUnavailableError);
    await until('reads are answered', readMany);
    await frozen.close();
    proxy.stop();
  });
});

test('a PostgreSQL server that does not exist is reported as unavailable without waiting', async () => {
  const url = `postgres://paybell:secret@127.0.0.1:${freePort()}/paybell`;
  const opening = openDatabase({ engine: 'postgres', url });
  expect(await rejection(opening)).toBeInstanceOf(StoreUnavailableError);
  expect((await rejection(opening)).message).not.toContain('secret');
});
