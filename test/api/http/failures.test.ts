import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import pino from 'pino';
import { type Database, StoreUnavailableError } from '../../../src/store/database/database.ts';
import { migrate } from '../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import { call, createTenant, type Tenant, testApp, WEBHOOKS } from '../../support/api.ts';
import { expectProblem } from '../../support/problems.ts';
import { alteredStore, createTarget } from '../../support/stores.ts';

let db: Database;
let tenant: Tenant;
let remove: () => void;

beforeAll(async () => {
  const created = await createTarget('sqlite');
  remove = created.remove;
  db = await openDatabase(created.target);
  await migrate(db);
  tenant = await createTenant(db);
});

afterAll(async () => {
  await db.close();
  remove();
});

/** Internal errors are injected into a real store where the list reads it. */
describe('when the inside fails', () => {
  function failingWith(error: unknown): Database {
    const fail = () => Promise.reject(error);
    return alteredStore(db, { snapshot: fail, transaction: fail });
  }

  const secret = 'select * from api_keys at /srv/paybell/src/store.ts:7 pbk_secret';

  test('a store that does not respond is 503 with Retry-After, for reads and for writes', async () => {
    const app = testApp(failingWith(new StoreUnavailableError(secret)));
    const json = { postUrl: 'https://example.com/hook' };
    for (const response of [await call(app, tenant, WEBHOOKS), await call(app, tenant, WEBHOOKS, { json })]) {
      expect(response.headers.get('retry-after')).toMatch(/^[1-9][0-9]*$/);
      await expectProblem(response, 'unavailable');
    }
  });

  test('a commit whose response is lost promises nothing: what was asked for may have been done', async () => {
    const lostResponse: Partial<Database> = {
      async transaction(work) {
        await db.transaction(work);
        throw new StoreUnavailableError('no response to the commit');
      },
    };
    const json = { postUrl: 'https://example.com/lost', networkIds: [1], events: ['LatePayment'] };
    const response = await call(testApp(alteredStore(db, lostResponse)), tenant, WEBHOOKS, { json });
    const { detail } = await expectProblem(response, 'unavailable');
    expect(detail).not.toContain('changed');
    const { totalResults } = (await (await call(testApp(db), tenant, WEBHOOKS)).json()) as { totalResults: number };
    expect(totalResults).toBe(1);
  });

  test.each([
    ['an error', new Error(secret)],
    ['a type error', new TypeError(secret)],
    ['a text', secret],
    ['nothing', undefined],
  ])('%s is 500 that shows nothing of it', async (_name, thrown) => {
    await expectProblem(await call(testApp(failingWith(thrown)), tenant, WEBHOOKS), 'internal');
  });

  test('the error is in the log under the request id of the response, and the api key is not', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => lines.push(line) });
    const response = await call(testApp(failingWith(new Error('broken pipe')), {}, { log }), tenant, WEBHOOKS);
    const { requestId } = await expectProblem(response, 'internal');
    const line = lines.find((text) => text.includes('broken pipe')) ?? '';
    expect(JSON.parse(line)).toMatchObject({ requestId, level: 50 });
    expect(lines.join('')).not.toContain(tenant.apiKey);
  });
});

describe('the log of requests', () => {
  async function linesOf(level: string, path: string): Promise<Record<string, unknown>[]> {
    const lines: string[] = [];
    const log = pino({ level }, { write: (line: string) => lines.push(line) });
    await call(testApp(db, {}, { log }), tenant, path);
    expect(lines.join('')).not.toContain(tenant.apiKey);
    return lines.map((line) => JSON.parse(line));
  }

  test('at info has a line for a request that failed, with all that finds it again', async () => {
    expect(await linesOf('info', `${WEBHOOKS}?limit=0`)).toMatchObject([
      {
        method: 'GET',
        route: WEBHOOKS,
        status: 400,
        durationMs: expect.any(Number),
        requestId: expect.any(String),
        entityId: tenant.entityId,
      },
    ]);
  });

  test('at info has no line for a request that went well, at debug it has', async () => {
    expect(await linesOf('info', WEBHOOKS)).toEqual([]);
    expect(await linesOf('debug', WEBHOOKS)).toMatchObject([{ route: WEBHOOKS, status: 200 }]);
  });

  test('has no line with the query or an unknown path, since these can contain anything', async () => {
    const lines = await linesOf('info', '/pbk_pasted/by?mistake=pbk_too');
    expect(lines).toMatchObject([{ route: null, status: 404 }]);
    expect(JSON.stringify(lines)).not.toContain('pbk_');
  });
});
