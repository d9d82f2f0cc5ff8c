import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { App } from '../../../src/api/app.ts';
import { type Database, StoreUnavailableError } from '../../../src/store/database/database.ts';
import { migrate } from '../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import { call, createTenant, type Tenant, testApp, WEBHOOKS } from '../../support/api.ts';
import { createPostgresDatabase, freePort } from '../../support/postgres.ts';
import { rejection } from '../../support/rejection.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';

describe('a PostgreSQL server behind a failing connection', () => {
  let proxy: TcpProxy;
  let db: Database;
  let app: App;
  let tenant: Tenant;

  beforeAll(async () => {
    const url = new URL(await createPostgresDatabase());
    proxy = startTcpProxy(url.hostname, Number(url.port));
    url.port = String(proxy.port);
    db = await openDatabase({ engine: 'postgres', url: url.href });
    await migrate(db);
    tenant = await createTenant(db);
    app = testApp(db);
  });

  afterAll(async () => {
    await db.close();
    proxy.stop();
  });

  const list = () => call(app, tenant, WEBHOOKS);
  const registration = { postUrl: 'https://example.com/hook', networkIds: [1], events: ['LatePayment'] };

  /** The service is not told: it has to recover by itself. */
  async function untilItAnswers(): Promise<void> {
    while ((await list()).status !== 200) await Bun.sleep(20);
  }

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
    expect((await call(app, tenant, WEBHOOKS, { json: registration })).status).toBe(201);
    expect((await call(app, null, '/readyz')).status).toBe(200);
  }, 30_000);

  test('closed connections fail at most the calls on them, and the next calls open new ones', async () => {
    await untilItAnswers();
    proxy.cut();
    const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await list()).status));
    for (const status of statuses) expect([200, 503]).toContain(status);
    await untilItAnswers();
  }, 30_000);

  test('a transaction whose connection is closed half-way leaves nothing behind', async () => {
    await untilItAnswers();
    const interrupted = db.transaction(async (queries) => {
      await queries.run(`update entities set name = 'Half' where id = $1`, [tenant.entityId]);
      proxy.cut();
      await queries.get('select 1 as up');
    });
    expect(await rejection(interrupted)).toBeInstanceOf(StoreUnavailableError);
    await untilItAnswers();
    expect(await db.get('select name from entities where id = $1', [tenant.entityId])).toEqual({ name: 'Test' });
  }, 30_000);
});

test('a PostgreSQL server that does not exist is reported as unavailable without waiting', async () => {
  const url = `postgres://paybell:secret@127.0.0.1:${freePort()}/paybell`;
  const opening = openDatabase({ engine: 'postgres', url });
  expect(await rejection(opening)).toBeInstanceOf(StoreUnavailableError);
  expect((await rejection(opening)).message).not.toContain('secret');
});
