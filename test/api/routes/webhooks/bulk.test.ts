import { beforeAll, beforeEach, expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import type { Webhook, WebhookList } from '../../../../src/contract/webhooks.ts';
import { call, createTenant, type Tenant, testApp, WEBHOOKS } from '../../../support/api.ts';
import { listAudit, shown } from '../../../support/audit.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { register, seedWebhooks, wrongCounters } from '../../../support/webhooks.ts';

const NOW_S = 1_763_168_400;
const url = (path: string) => `https://example.com/${path}`;
const METHODS = ['PATCH', 'DELETE'] as const;
type Method = (typeof METHODS)[number];

onSuiteEngine('a bulk change', (store) => {
  let app: App;
  let tenant: Tenant;
  let bystander: Tenant;

  /** Networks 1 and 10, two events, at the URL `old`; one more at `other`; and the same of another entity. */
  beforeEach(async () => {
    app = testApp(store.db, {}, { nowMs: () => NOW_S * 1000 });
    [tenant, bystander] = [await createTenant(store.db), await createTenant(store.db)];
    const pairs = [1, 10].flatMap((networkId) =>
      ['LatePayment', 'TransferCreated'].map((event) => ({ networkId, event })),
    );
    for (const { entityId } of [tenant, bystander]) {
      await register(store.db, entityId, url('old'), pairs);
      await register(store.db, entityId, url('other'), [{ networkId: 1, event: 'LatePayment' }]);
    }
  });

  const change = (method: Method, query: string, postUrl = url('new'), who = tenant) =>
    call(app, who, `${WEBHOOKS}${query}`, { method, ...(method === 'PATCH' ? { json: { postUrl } } : {}) });
  const all = async (who = tenant): Promise<Webhook[]> =>
    ((await (await call(app, who, `${WEBHOOKS}?limit=100&sortDir=asc`)).json()) as WebhookList).webhooks;
  const counted = async (response: Response) => {
    expect(response.status).toBe(200);
    return response.json();
  };
  const rows = async (action: string) => (await listAudit(app, tenant, `?action=${action}`)).audit.map(shown);

  test.each(METHODS)('%s without a filter is 400, also with dryRun alone, and changes nothing', async (method) => {
    const before = await all();
    for (const query of ['', '?', '?dryRun=true', '?dryRun=false']) {
      const errors = messagesByName(await expectProblem(await change(method, query), 'invalid_request'));
      expect(errors).toEqual({
        'webhookId, networkId, networkIds, event, events, postUrl': expect.stringContaining('at least one'),
      });
    }
    expect(await all()).toEqual(before);
  });

  test.each([
    ['?networkId=1e1', ['networkId']],
    ['?event=latepayment', ['event']],
    ['?webhookId=', ['webhookId']],
    ['?postUrl=a%00b', ['postUrl']],
    ['?networkId=1&networkId=2', ['networkId']],
    ['?networkId=1&dryRun=yes', ['dryRun']],
    ['?networkIds=', ['networkIds']],
    ['?networkIds=1,,2', ['networkIds']],
    ['?networkIds=1,x,y,z', ['networkIds']],
    ['?events=LatePayment,latepayment', ['events']],
    ['?networkId=1&networkIds=1,10', ['networkIds']],
    ['?event=LatePayment&events=LatePayment&networkId=1&networkIds=10', ['events', 'networkIds']],
    ['?networkId=1&dryrun=true&page=1', ['dryrun', 'page']],
    ['?networkid=1', ['networkid', 'webhookId, networkId, networkIds, event, events, postUrl']],
  ])('%s is 400 and names every invalid parameter', async (query, names) => {
    for (const method of METHODS) {
      const { errors = [] } = await expectProblem(await change(method, query), 'invalid_request');
      expect(errors.map(({ name }) => name).toSorted()).toEqual(names);
    }
    expect(await all()).toHaveLength(5);
  });

  test('PATCH names the errors of query and body together', async () => {
    const response = await change('PATCH', '?networkId=x', 'ftp://example.com/');
    const { errors = [] } = await expectProblem(response, 'invalid_request');
    expect(errors.map((error) => [error.in, error.name])).toEqual([
      ['query', 'networkId'],
      ['body', 'postUrl'],
    ]);
  });

  test.each([
    ['?networkId=10', 2],
    ['?event=TransferCreated', 2],
    [`?postUrl=${encodeURIComponent(url('old'))}`, 4],
    ['?networkId=10&event=LatePayment', 1],
    [`?networkId=1&event=LatePayment&postUrl=${encodeURIComponent(url('other'))}`, 1],
    ['?networkId=7', 0],
    ['?webhookId=wh_none', 0],
    [`?networkIds=1,10&postUrl=${encodeURIComponent(url('old'))}`, 4],
    ['?networkIds=10,137', 2],
    ['?networkIds=1,10&event=TransferCreated', 2],
    ['?networkIds=10&events=TransferCreated', 1],
    [`?networkId=1&events=TransferCreated,LatePayment&postUrl=${encodeURIComponent(url('old'))}`, 2],
    ['?networkIds=7,9', 0],
  ])('%s matches %i, as many as dryRun says and as then change', async (query, matches) => {
    const before = await all();
    const dry = await counted(await change('PATCH', `${query}&dryRun=true`));
    expect(dry).toEqual({ totalResults: matches });
    expect(await counted(await change('DELETE', `${query}&dryRun=true`))).toEqual({ totalResults: matches });
    expect(await all()).toEqual(before);

    expect(await counted(await change('PATCH', query))).toEqual({ totalResults: matches });
    const moved = (await all()).filter(({ postUrl }) => postUrl === url('new'));
    expect(moved).toHaveLength(matches);
    const remaining = before.length - matches;
    const byNewUrl = `?postUrl=${encodeURIComponent(url('new'))}`;
    expect(await counted(await change('DELETE', byNewUrl))).toEqual({ totalResults: matches });
    expect(await all()).toHaveLength(remaining);
    expect(await wrongCounters(store.db)).toEqual([]);
  });

  test('by webhookId takes exactly that one', async () => {
    const [first, ...others] = await all();
    expect(await counted(await change('DELETE', `?webhookId=${first?.webhookId}`))).toEqual({ totalResults: 1 });
    expect(await all()).toEqual(others);
  });

  test('of several for one network and event is counted for each of them', async () => {
    expect(await counted(await change('DELETE', '?networkId=1&event=LatePayment'))).toEqual({ totalResults: 2 });
    expect(await all()).toHaveLength(3);
    expect(await wrongCounters(store.db)).toEqual([]);
  });

  test('leaves ids, dates and order of what it moves as they were', async () => {
    const before = await all();
    await change('PATCH', `?postUrl=${encodeURIComponent(url('old'))}`);
    const moved = before.map((webhook) =>
      webhook.postUrl === url('old') ? { ...webhook, postUrl: url('new') } : webhook,
    );
    expect(await all()).toEqual(moved);
  });

  test('that would make two of those moved equal is 409 naming both, and moves none', async () => {
    const before = await all();
    const clashing = before.filter(({ networkId, event }) => networkId === 1 && event === 'LatePayment');
    expect(clashing).toHaveLength(2);
    for (const query of ['?networkId=1', '?networkId=1&dryRun=true', '?event=LatePayment']) {
      const { detail } = await expectProblem(await change('PATCH', query), 'conflict');
      for (const { webhookId } of clashing) expect(detail).toContain(webhookId);
    }
    expect(await all()).toEqual(before);
    expect(await rows('webhooks.updated')).toEqual([]);
  });

  test('that would make one equal to a webhook that is there is 409 naming it, and moves none', async () => {
    const before = await all();
    const inTheWay = before.find(({ postUrl }) => postUrl === url('other'));
    const query = `?postUrl=${encodeURIComponent(url('old'))}`;
    for (const suffix of ['', '&dryRun=true']) {
      const response = await change('PATCH', query + suffix, url('other'));
      expect((await expectProblem(response, 'conflict')).detail).toContain(inTheWay?.webhookId ?? 'missing');
    }
    expect(await all()).toEqual(before);
  });

  test('does not count and does not touch what has the URL already', async () => {
    const query = `?postUrl=${encodeURIComponent(url('old'))}`;
    expect(await counted(await change('PATCH', `${query}&dryRun=true`, url('old')))).toEqual({ totalResults: 0 });
    expect(await counted(await change('PATCH', query, url('old')))).toEqual({ totalResults: 0 });
    expect(await rows('webhooks.updated')).toEqual([]);
  });

  test('leaves one row of audit with what was before, and none when nothing changed', async () => {
    const before = (await all()).filter(({ networkId }) => networkId === 10);
    const by = { actor: tenant.keyId, target: tenant.entityId, dateCreated: NOW_S };
    await change('PATCH', '?networkId=10');
    const moved = before.map(({ webhookId, postUrl }) => ({ webhookId, postUrl }));
    expect(await rows('webhooks.updated')).toEqual([
      {
        ...by,
        action: 'webhooks.updated',
        before: { match: { networkId: 10 }, webhooks: expect.arrayContaining(moved) },
        after: { postUrl: url('new') },
      },
    ]);
    await change('DELETE', '?networkId=10');
    await change('DELETE', '?networkId=10');
    const removed = before.map((webhook) => ({ ...webhook, postUrl: url('new') }));
    expect(await rows('webhooks.deleted')).toEqual([
      {
        ...by,
        action: 'webhooks.deleted',
        before: { match: { networkId: 10 }, webhooks: expect.arrayContaining(removed) },
        after: null,
      },
    ]);
  });

  test('never reaches another entity', async () => {
    const before = await all(bystander);
    for (const method of METHODS) {
      await change(method, `?postUrl=${encodeURIComponent(url('old'))}`);
      await change(method, '?networkId=10');
      await change(method, `?webhookId=${before[0]?.webhookId}`);
    }
    expect(await all(bystander)).toEqual(before);
  });
});

onSuiteEngine('a bulk change of very many', (store) => {
  const MOST = 1_000;
  let app: App;
  let tenant: Tenant;

  beforeAll(() => {
    app = testApp(store.db);
  });

  beforeEach(async () => {
    tenant = await createTenant(store.db);
  });

  const seed = (count: number) =>
    seedWebhooks(
      store.db,
      tenant.entityId,
      Array.from({ length: count }, (_, index) => ({
        networkId: 1 + (index % 600),
        event: index < 600 ? 'LatePayment' : 'TransferCreated',
        postUrl: url('many'),
      })),
    );
  const change = (method: Method, suffix = '') =>
    call(app, tenant, `${WEBHOOKS}?postUrl=${encodeURIComponent(url('many'))}${suffix}`, {
      method,
      ...(method === 'PATCH' ? { json: { postUrl: url('new') } } : {}),
    });
  const total = async (query = '') =>
    ((await (await call(app, tenant, `${WEBHOOKS}${query}`)).json()) as WebhookList).totalResults;

  test('changes the most that it may at once, and every counter follows', async () => {
    await seed(MOST);
    expect(await (await change('PATCH')).json()).toEqual({ totalResults: MOST });
    expect(await total()).toBe(MOST);
    const deleted = await call(app, tenant, `${WEBHOOKS}?event=LatePayment`, { method: 'DELETE' });
    expect(await deleted.json()).toEqual({ totalResults: 600 });
    expect([await total(), await total('?event=LatePayment'), await total('?networkId=1')]).toEqual([400, 0, 1]);
    expect(await wrongCounters(store.db)).toEqual([]);
  });

  test('is 409 with the count for one more than that, also as a dry run, and changes nothing', async () => {
    await seed(MOST + 1);
    for (const method of METHODS) {
      for (const suffix of ['', '&dryRun=true']) {
        const { detail } = await expectProblem(await change(method, suffix), 'too_many_matches');
        expect(detail).toContain('1001 webhooks match');
      }
    }
    expect(await total()).toBe(MOST + 1);
    expect(await (await change('DELETE', '&event=LatePayment')).json()).toEqual({ totalResults: 600 });
  });
});
