import { beforeAll, expect, test } from 'bun:test';
import type { App } from '../../../src/api/app.ts';
import type { AuditEntry } from '../../../src/contract/audit.ts';
import { recordChange } from '../../../src/store/tenants/audit.ts';
import { call, createTenant, TEST_CHANGE, type Tenant, testApp } from '../../support/api.ts';
import { AUDIT, listAudit } from '../../support/audit.ts';
import { expectProblem, messagesByName } from '../../support/problems.ts';
import { onSuiteEngine } from '../../support/stores.ts';

const FIRST_S = 1_763_168_400;

onSuiteEngine('the audit', (store) => {
  let app: App;
  let tenant: Tenant;
  /** Thirty changes, a minute apart, by two keys in turn, of three webhooks in turn; two more made the tenant. */
  const CHANGES = 30;
  const ALL = CHANGES + 2;

  beforeAll(async () => {
    app = testApp(store.db);
    tenant = await createTenant(store.db);
    const stranger = await createTenant(store.db);
    for (const { entityId } of [tenant, stranger]) {
      await store.db.transaction(async (queries) => {
        for (let index = 0; index < CHANGES; index++) {
          const change = { actor: `key_${index % 2}`, nowS: FIRST_S + index * 60 };
          const action = index % 5 === 0 ? 'webhook.deleted' : 'webhook.updated';
          const target = `wh_${index % 3}`;
          await recordChange(queries, entityId, change, { action, target, before: { index } });
        }
      });
    }
  });

  const list = (query: string) => listAudit(app, tenant, query);
  const indexes = ({ audit }: { audit: AuditEntry[] }) =>
    audit.map(({ before }) => (before as { index: number }).index);

  test('shows every field of every change, the newest first, 25 at most, and counts the others', async () => {
    const { totalResults, audit } = await list('');
    expect([totalResults, audit.length]).toEqual([ALL, 25]);
    expect(audit[0]).toEqual({
      auditId: expect.stringMatching(/^aud_[0-9a-f]{32}$/),
      actor: 'key_1',
      action: 'webhook.updated',
      target: 'wh_2',
      before: { index: 29 },
      after: null,
      dateCreated: FIRST_S + 29 * 60,
    });
  });

  test('begins with the entity and its key, in that order', async () => {
    const { audit } = await list('?sortDir=asc&limit=2');
    expect(audit).toMatchObject([
      { actor: 'test', action: 'entity.created', target: tenant.entityId, before: null, after: { name: 'Test' } },
      { actor: 'test', action: 'key.created', target: tenant.keyId, dateCreated: TEST_CHANGE.nowS },
    ]);
  });

  test.each([
    ['?actor=key_0', 15],
    ['?action=webhook.deleted', 6],
    ['?target=wh_1', 10],
    ['?actor=key_0&action=webhook.deleted', 3],
    ['?actor=key_0&action=webhook.deleted&target=wh_0', 1],
    [`?since=${FIRST_S}`, CHANGES],
    [`?until=${FIRST_S}`, 2],
    [`?since=${FIRST_S + 60}&until=${FIRST_S + 120}`, 1],
    [`?since=${FIRST_S + 120}&until=${FIRST_S + 60}`, 0],
    ['?actor=unknown', 0],
    ['?action=key.revoked', 0],
  ])('%s matches %i', async (query, matches) => {
    const { totalResults, audit } = await list(`${query}&limit=100`);
    expect([totalResults, audit.length]).toEqual([matches, matches]);
  });

  test('is walked page by page in either direction and shows every change exactly once', async () => {
    const byKeyOne = (page: number, dir: string) => list(`?actor=key_1&limit=4&page=${page}&sortDir=${dir}`);
    const rising = Array.from({ length: 15 }, (_, index) => index * 2 + 1);
    for (const [dir, expected] of [
      ['asc', rising],
      ['desc', rising.toReversed()],
    ] as const) {
      const pages = await Promise.all([1, 2, 3, 4].map((page) => byKeyOne(page, dir)));
      expect(pages.flatMap(indexes)).toEqual([...expected]);
      expect(pages.map(({ totalResults }) => totalResults)).toEqual([15, 15, 15, 15]);
    }
    expect(await byKeyOne(5, 'asc')).toEqual({ totalResults: 15, audit: [] });
  });

  test('is 304 until something is added', async () => {
    const path = `${AUDIT}?limit=1`;
    const headers = { 'if-none-match': (await call(app, tenant, path)).headers.get('etag') ?? '' };
    expect((await call(app, tenant, path, { headers })).status).toBe(304);
  });

  test.each([
    ['?limit=0', ['limit']],
    ['?limit=101', ['limit']],
    ['?page=1e3', ['page']],
    ['?sortBy=actor', ['sortBy']],
    ['?sortDir=ASC', ['sortDir']],
    ['?action=webhook.eaten', ['action']],
    ['?actor=', ['actor']],
    ['?target=%00', ['target']],
    ['?since=-1', ['since']],
    ['?since=2026-01-01', ['since']],
    ['?until=1.5', ['until']],
    ['?actors=x', ['actors']],
    ['?actor=a&actor=b', ['actor']],
    ['?limit=0&page=0&until=x', ['limit', 'page', 'until']],
  ])('%s is 400 and names every invalid parameter', async (query, names) => {
    const problem = await expectProblem(await call(app, tenant, `${AUDIT}${query}`), 'invalid_request');
    expect(Object.keys(messagesByName(problem)).toSorted()).toEqual(names);
  });
});
