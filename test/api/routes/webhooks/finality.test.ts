import { beforeEach, expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import type { WebhookList } from '../../../../src/contract/webhooks.ts';
import { call, createTenant, type Tenant, testApp, WEBHOOKS } from '../../../support/api.ts';
import { listAudit, shown } from '../../../support/audit.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { onSuiteEngine } from '../../../support/stores.ts';

const DEFAULTS = {
  AgreementSignedUp: 'final',
  AgreementCancelled: 'final',
  ScheduledAgreementCancel: 'final',
  TransferProcessed: 'seen',
  TransferCreated: 'seen',
  TransferFinalized: 'final',
  LatePayment: 'seen',
};
const HOOK = 'https://example.com/hook';
const LEVEL = '"seen", "safe", "final" or a whole number of confirmations from 2 to 1000';
const EXAMPLE = '{"rules": [{"maxAmount": "50", "tokens": ["usd"], "finality": "seen"}], "otherwise": "final"}';
const WRONG = `must be ${LEVEL}, or rules by amount such as ${EXAMPLE}`;
const RULES = { rules: [{ maxAmount: '50', tokens: ['usd'], finality: 'seen' }], otherwise: 'final' };

onSuiteEngine('the finality of a webhook', (store) => {
  let app: App;
  let tenant: Tenant;

  beforeEach(async () => {
    app = testApp(store.db);
    tenant = await createTenant(store.db);
  });

  const register = (events: string[] | null, options?: object) =>
    call(app, tenant, WEBHOOKS, {
      json: { postUrl: HOOK, networkIds: [1], ...(events && { events }), ...(options && { options }) },
    });
  const registered = async (events: string[], options?: object): Promise<Record<string, string>> => {
    const response = await register(events, options);
    expect(response.status).toBe(201);
    const { webhooks } = (await response.json()) as WebhookList;
    return Object.fromEntries(webhooks.map(({ event, webhookId }) => [event, webhookId]));
  };
  const idOf = async (event: string, options?: object) => (await registered([event], options))[event] ?? '';
  const pathOf = (webhookId: string) => `${WEBHOOKS}/${webhookId}/options`;
  const put = (webhookId: string, json: unknown) => call(app, tenant, pathOf(webhookId), { method: 'PUT', json });
  const finalityOf = async (webhookId: string) =>
    ((await (await call(app, tenant, pathOf(webhookId))).json()) as { finality: unknown }).finality;
  const patch = (query: string, options: object) =>
    call(app, tenant, `${WEBHOOKS}?${query}`, { method: 'PATCH', json: { options } });
  const stored = async () => {
    const sql = 'select finality from webhooks where entity_id = $1 order by created_seq';
    return (await store.db.all<{ finality: string | null }>(sql, [tenant.entityId])).map(({ finality }) => finality);
  };
  const errorsOf = async (response: Response) => messagesByName(await expectProblem(response, 'invalid_request'));

  test('is the default of its kind, shown by its name, until it is given one', async () => {
    const ids = await registered(Object.keys(DEFAULTS));
    for (const [event, finality] of Object.entries(DEFAULTS)) {
      expect({ event, finality: await finalityOf(ids[event] ?? '') }).toEqual({ event, finality });
    }
    expect(new Set(await stored())).toEqual(new Set([null]));
  });

  test('is given with the registration, replaced with the options, and reset by null or by leaving it out', async () => {
    const webhookId = await idOf('TransferProcessed', { finality: 'safe' });
    expect(await finalityOf(webhookId)).toBe('safe');
    const appliesTo = 'payments first seen after this change';
    for (const finality of [2, 12, 1_000, 'final', 'seen', 'safe']) {
      const response = await put(webhookId, { filter: null, finality });
      expect([response.status, await response.json()]).toEqual([200, { finality, filter: null, appliesTo }]);
      // A change of the filter alone, or none, says nothing about payments.
      expect(await (await put(webhookId, { filter: null, finality })).json()).toEqual({ finality, filter: null });
      expect(await finalityOf(webhookId)).toBe(finality);
    }
    for (const reset of [{ finality: null }, {}]) {
      expect((await put(webhookId, { filter: null, finality: 12 })).status).toBe(200);
      expect(await (await put(webhookId, { filter: null, ...reset })).json()).toEqual({
        finality: 'seen',
        filter: null,
        appliesTo,
      });
    }
  });

  test('is stored in one way only: the default that was asked for by its name is the default', async () => {
    const ids = await registered(['TransferProcessed', 'AgreementSignedUp'], { finality: 'final' });
    expect(await stored()).toEqual(['final', null]);
    expect((await patch('networkId=1', { finality: 'seen' })).status).toBe(200);
    expect(await stored()).toEqual([null, 'seen']);
    expect(await finalityOf(ids.AgreementSignedUp ?? '')).toBe('seen');
  });

  test('that does not exist is 400 and says what there is', async () => {
    const webhookId = await idOf('TransferProcessed');
    for (const finality of [0, 1, 1_001, 2.5, -3, '12', 'latest', 'finalized', '', true, []]) {
      expect(await errorsOf(await put(webhookId, { filter: null, finality }))).toEqual({ finality: WRONG });
    }
    expect(await errorsOf(await register(['LatePayment'], { finality: 1 }))).toEqual({ 'options.finality': WRONG });
    expect(await errorsOf(await patch('networkId=1', { finality: 'x' }))).toEqual({ 'options.finality': WRONG });
    expect(await errorsOf(await patch('networkId=1', {}))).toEqual({ options: 'must have finality, filter or both' });
  });

  test('by amount is given with the registration, replaced, changed in bulk and reset', async () => {
    const webhookId = await idOf('TransferProcessed', { finality: RULES });
    expect(await finalityOf(webhookId)).toEqual(RULES);
    const wider = { ...RULES, rules: [...RULES.rules, { maxAmount: '1000.50', tokens: ['usd'], finality: 12 }] };
    const replaced = await put(webhookId, { filter: null, finality: wider });
    const shown = { ...wider, rules: [RULES.rules[0], { maxAmount: '1000.5', tokens: ['usd'], finality: 12 }] };
    const appliesTo = 'payments first seen after this change';
    expect([replaced.status, await replaced.json()]).toEqual([200, { finality: shown, filter: null, appliesTo }]);
    expect(await (await put(webhookId, { filter: null, finality: shown })).json()).toEqual({
      ...{ finality: shown, filter: null },
    });
    const count = async (finality: unknown) => (await (await patch('networkId=1', { finality })).json()) as unknown;
    expect(await count(RULES)).toEqual({ totalResults: 1 });
    expect(await count(RULES)).toEqual({ totalResults: 0 });
    expect(await finalityOf(webhookId)).toEqual(RULES);
    expect(await count('seen')).toEqual({ totalResults: 1 });
    expect(await stored()).toEqual([null]);
  });

  test('by amount is the same however it is written, so that a repeated registration succeeds', async () => {
    await registered(['TransferProcessed', 'AgreementSignedUp'], { finality: RULES });
    const same = { otherwise: 'final', rules: [{ finality: 'seen', tokens: ['usd'], maxAmount: '050.00' }] };
    expect((await register(['TransferProcessed'], { finality: same })).status).toBe(200);
    const other = { ...RULES, otherwise: 'safe' };
    await expectProblem(await register(['TransferProcessed'], { finality: other }), 'conflict');
  });

  test('by amount that is wrong is 400 and names each part', async () => {
    const webhookId = await idOf('TransferProcessed');
    const wrong = { rules: [{ maxAmount: '50', tokens: ['usd'], finality: 'soon' }, {}], otherwise: 'never' };
    const errors = {
      'rules.0.finality': `must be ${LEVEL}`,
      'rules.1.maxAmount':
        'is required; it must be a decimal above 0 as a string, such as "50", with at most 40 characters',
      'rules.1.tokens':
        'is required; it must be ["usd"], the listed dollar stablecoins: no other token has a known worth',
      'rules.1.finality': `is required; it must be ${LEVEL}`,
      otherwise: `must be ${LEVEL}`,
    };
    const named = (prefix: string) =>
      Object.fromEntries(Object.entries(errors).map(([name, message]) => [`${prefix}.${name}`, message]));
    expect(await errorsOf(await put(webhookId, { filter: null, finality: wrong }))).toEqual(named('finality'));
    expect(await errorsOf(await register(['LatePayment'], { finality: wrong }))).toEqual(named('options.finality'));
    expect(await errorsOf(await patch('networkId=1', { finality: wrong }))).toEqual(named('options.finality'));
  });

  test('of TransferFinalized is final, and any other is 400 that names the field and the kind', async () => {
    const webhookId = await idOf('TransferFinalized', { finality: 'final' });
    for (const finality of ['seen', 'safe', 12, RULES]) {
      expect(await errorsOf(await put(webhookId, { filter: null, finality }))).toEqual({
        finality: 'must be "final" or null for TransferFinalized, which this webhook is registered for',
      });
      // Also where it is one of several kinds, or one of all.
      for (const events of [['TransferFinalized'], ['TransferProcessed', 'TransferFinalized'], null]) {
        const message = 'must be "final" for TransferFinalized, which says that a transfer is final; leave it out, or ';
        expect(await errorsOf(await register(events, { finality }))).toEqual({
          'options.finality': `${message}register TransferFinalized apart`,
        });
      }
      for (const query of ['networkId=1', 'networkId=1&dryRun=true']) {
        expect(await errorsOf(await patch(query, { finality }))).toEqual({
          'options.finality':
            'must be "final" or null for TransferFinalized, which a matching webhook is registered for',
        });
      }
    }
    expect((await put(webhookId, { filter: null, finality: 'final' })).status).toBe(200);
    expect(await stored()).toEqual([null]);
  });

  test('must be the same when the registration is repeated with options, whichever way the default is written', async () => {
    await registered(['TransferProcessed'], { finality: 12 });
    expect((await register(['TransferProcessed'])).status).toBe(200);
    expect((await register(['TransferProcessed'], { finality: 12 })).status).toBe(200);
    for (const options of [{ finality: 13 }, { finality: null }, {}, { filter: null }]) {
      await expectProblem(await register(['TransferProcessed', 'LatePayment'], options), 'conflict');
    }
    await registered(['LatePayment']);
    for (const options of [{ finality: 'seen' }, { finality: null }, {}]) {
      expect((await register(['LatePayment'], options)).status).toBe(200);
    }
    await expectProblem(await register(['LatePayment'], { finality: 'safe' }), 'conflict');
    expect(await stored()).toEqual(['12', null]);
  });

  test('changes in bulk without the filter, and the filter without it; webhooks that have it are not counted', async () => {
    const ids = await registered(['TransferProcessed', 'LatePayment'], { filter: { token: ['USDC'] } });
    const count = async (query: string, options: object) => (await patch(query, options)).json();
    expect(await count('networkId=1&dryRun=true', { finality: 'safe' })).toEqual({ totalResults: 2 });
    expect(await stored()).toEqual([null, null]);
    expect(await count('event=LatePayment', { finality: 'safe' })).toEqual({ totalResults: 1 });
    expect(await count('networkId=1', { finality: 'safe' })).toEqual({ totalResults: 1 });
    expect(await count('networkId=1', { filter: null })).toEqual({ totalResults: 2 });
    expect(await count('networkId=1', { finality: null, filter: null })).toEqual({ totalResults: 2 });
    expect(await finalityOf(ids.LatePayment ?? '')).toBe('seen');
    const { audit } = await listAudit(app, tenant, '?action=webhooks.updated&sortDir=asc');
    const [, second, third] = audit.map(shown);
    expect(second).toMatchObject({
      before: { options: [{ finality: 'seen', webhookIds: [ids.TransferProcessed] }] },
      after: { options: { finality: 'safe' } },
    });
    expect(third).toMatchObject({
      before: { options: [{ finality: 'safe', filter: { token: ['USDC'] }, webhookIds: expect.any(Array) }] },
      after: { options: { filter: null } },
    });
  });

  test('is in the audit, before and after, once for each change', async () => {
    const webhookId = await idOf('AgreementSignedUp', { finality: 'safe' });
    for (let times = 0; times < 2; times++) await put(webhookId, { filter: null, finality: 6 });
    const { audit } = await listAudit(app, tenant, '?sortDir=asc');
    expect(audit.slice(-2).map(shown)).toMatchObject([
      { action: 'webhooks.registered', after: { options: { finality: 'safe' } } },
      {
        action: 'webhook.updated',
        before: { options: { finality: 'safe', filter: null } },
        after: { options: { finality: 6, filter: null } },
      },
    ]);
  });

  test('does not show in the webhook or the list, which keep their five fields', async () => {
    const webhookId = await idOf('TransferProcessed', { finality: 12 });
    const five = ['webhookId', 'networkId', 'event', 'postUrl', 'dateCreated'];
    expect(Object.keys((await (await call(app, tenant, `${WEBHOOKS}/${webhookId}`)).json()) as object)).toEqual(five);
    for (let times = 0; times < 3; times++) {
      const { webhooks } = (await (await call(app, tenant, WEBHOOKS)).json()) as WebhookList;
      expect(webhooks.map(Object.keys)).toEqual([five]);
    }
  });
});
