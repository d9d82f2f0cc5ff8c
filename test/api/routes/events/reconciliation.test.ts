import { beforeEach, expect, test } from 'bun:test';
import type { App } from '../../../../src/api/app.ts';
import { type BookEntry, Reconciliations } from '../../../../src/client/events/reconciliations.ts';
import { Transport } from '../../../../src/client/transport.ts';
import { reconciliationSchema } from '../../../../src/contract/events/reconciliation.ts';
import { firstHexAt } from '../../../../src/domain/ids.ts';
import { bookLine } from '../../../../src/domain/reconciliation/book.ts';
import { entityKey } from '../../../../src/store/database/sql.ts';
import { setNoticeUrl } from '../../../../src/store/deliveries/alerts.ts';
import { suspendWebhook } from '../../../../src/store/webhooks/suspension.ts';
import { call, createTenant, TEST_CHANGE, type Tenant, testApp } from '../../../support/api.ts';
import { addReceiver, completeAll, HOOK, respondedWith } from '../../../support/deliveries.ts';
import { expectProblem } from '../../../support/problems.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { recordTestOf } from '../../../support/test-requests.ts';

const PATH = '/api/v1/crypto/reconciliation';
const DAY_MS = 86_400_000;
const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';

onSuiteEngine('the reconciliation of a day', (store) => {
  let tenant: Tenant;
  let app: App;
  let webhookId: string;
  const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  let today: string;

  beforeEach(async () => {
    tenant = await createTenant(store.db);
    app = testApp(store.db);
    // A test that the end of the day falls into waits for the next one.
    const leftMs = DAY_MS - (Date.now() % DAY_MS);
    if (leftMs < 60_000) await Bun.sleep(leftMs);
    today = dayOf(Date.now());
    webhookId = await addReceiver(store.db, tenant.entityId, HOOK);
  });

  async function publish(count: number, fields: Record<string, unknown> = {}, prefix = 'pay'): Promise<BookEntry[]> {
    const entries = Array.from({ length: count }, (_, index) => ({
      eventId: `${prefix}-${index}`,
      event: 'LatePayment',
      token: USDC,
      amount: `${index}.10`,
    }));
    const lines = entries.map((entry) => JSON.stringify({ networkId: 1, ...entry, ...fields }));
    for (let start = 0; start < count; start += 1_000) {
      const body = lines.slice(start, start + 1_000).join('\n');
      const headers = { 'content-type': 'application/x-ndjson' };
      expect((await call(app, tenant, '/api/v1/crypto/events/batch', { body, headers })).status).toBe(200);
    }
    return entries;
  }

  async function read(query = `?day=${today}`) {
    const response = await call(app, tenant, PATH + query);
    expect(response.status).toBe(200);
    return reconciliationSchema.parse(await response.json());
  }

  const client = () =>
    new Reconciliations(
      new Transport({
        url: 'http://paybell.test',
        ...tenant,
        fetch: (url, init) => call(app, tenant, url.slice('http://paybell.test'.length), { ...(init as object) }),
      }),
    );

  test('has neither test requests, whose amounts are made up, nor alerts', async () => {
    const { db } = store;
    const entries = await publish(1);
    await completeAll(db, tenant.entityId, 'delivered');
    const before = await read();
    await recordTestOf(db, tenant.entityId, webhookId, respondedWith(200));
    await setNoticeUrl(db, tenant.entityId, 'https://alerts.example.com/', TEST_CHANGE);
    await suspendWebhook(db, tenant.entityId, webhookId, 'gone', TEST_CHANGE);
    expect(await read()).toEqual(before);
    expect(await client().compare({ day: today }, entries)).toMatchObject({ agrees: true, differences: [] });
  });

  test('sums up by network, kind and token, in exact decimals', async () => {
    await publish(3);
    await publish(1, { token: undefined, currency: 'EUR', amount: '0.000000000000000001' }, 'euro');
    await publish(1, { networkId: 10, amount: 5.5 }, 'unmatched');
    const figures = { final: 0, sent: 0, acknowledged: 0, acknowledgedAmount: '0' };
    const of1 = { networkId: 1, event: 'LatePayment' };
    expect(await read()).toEqual({
      day: today,
      endpointId: null,
      isOver: false,
      events: 5,
      acknowledged: 0,
      sha256: new Bun.SHA256().digest('hex'),
      totals: [
        { ...of1, token: USDC.toLowerCase(), events: 3, amount: '3.3', withoutAmount: 0, ...figures },
        { ...of1, token: 'EUR', events: 1, amount: '0.000000000000000001', withoutAmount: 0, ...figures },
        { ...of1, networkId: 10, token: USDC.toLowerCase(), events: 1, amount: '0', withoutAmount: 1, ...figures },
      ],
      tokens: [],
      undatedPayments: 0,
    });
    await completeAll(store.db, tenant.entityId, 'delivered');
    const { acknowledged, totals, sha256 } = await read();
    expect(acknowledged).toBe(4);
    expect(totals.map(({ sent, acknowledgedAmount }) => [sent, acknowledgedAmount])).toEqual([
      [3, '3.3'],
      [1, '0.000000000000000001'],
      [0, '0'],
    ]);
    const lines = ['0.1', '1.1', '2.1'].map((amount, index) =>
      bookLine({ eventId: `pay-${index}`, event: 'LatePayment', token: USDC, amount }),
    );
    const euro = bookLine({ eventId: 'euro-0', event: 'LatePayment', token: 'EUR', amount: '0.000000000000000001' });
    expect(sha256).toBe(Bun.SHA256.hash([euro, ...lines].join(''), 'hex'));
    expect((await read(`?day=${today}&networkId=10`)).events).toBe(1);
    expect((await read(`?day=${today}&events=TransferCreated,LatePayment&networkId=1`)).events).toBe(4);
    expect(await read(`?day=${dayOf(Date.now() - DAY_MS)}`)).toMatchObject({ events: 0, isOver: true, totals: [] });
  });

  test('agrees with an equal list by its digest alone, and names exactly what differs from another', async () => {
    const entries = await publish(1_050);
    await completeAll(store.db, tenant.entityId, 'delivered');
    const query = { day: today };
    expect(await client().compare(query, entries.toReversed())).toMatchObject({ agrees: true, differences: [] });
    const [lost, changed, ...others] = entries;
    if (lost === undefined || changed === undefined) throw new Error('there are two entries at least');
    const invented = { ...lost, eventId: 'invented' };
    const { agrees, differences } = await client().compare(query, [...others, { ...changed, amount: '7' }, invented]);
    expect(agrees).toBe(false);
    expect(differences.map(({ eventId, difference }) => [eventId, difference])).toEqual([
      [lost.eventId, 'missing'],
      [changed.eventId, 'different'],
      ['invented', 'unknown'],
    ]);
  });

  test.each(['delivered', 'failed'] as const)('shows the progress of a delivery that %s', async (status) => {
    const { db } = store;
    const expected = status === 'delivered' ? 'acknowledged' : 'failed';
    await publish(1);
    const progress = async () => (await client().listEvents({ day: today })).events.map((event) => event.progress);
    expect(await progress()).toEqual(['waiting']);
    await completeAll(db, tenant.entityId, status);
    expect(await progress()).toEqual([expected]);
  });

  test('is read on after an event, to the end', async () => {
    const entries = await publish(250);
    const pages: string[] = [];
    for await (const { eventId, progress } of client().listAllEvents({ day: today, limit: 100 })) {
      expect(progress).toBe('waiting');
      pages.push(eventId);
    }
    expect(pages).toEqual(entries.map(({ eventId }) => eventId));
    expect(await client().listEvents({ day: today, limit: 250 })).toMatchObject({ after: null });
  });

  test('has no event of the day before, whatever event it is read on after', async () => {
    await publish(3, { networkId: 10 });
    const { db } = store;
    const entity = entityKey(db.dialect, tenant.entityId);
    const beginsMs = Date.parse(today);
    for (const index of [0, 1]) {
      const no = db.dialect.bindUuid(firstHexAt(beginsMs - DAY_MS + index));
      const old = `(select no from events where entity_id = $1 and event_id = 'pay-${index}')`;
      await db.transaction(async (queries) => {
        await queries.run(`update event_ids set no = $2 where entity_id = $1 and no = ${old}`, [entity, no]);
        await queries.run(`update events set no = $2 where entity_id = $1 and no = ${old}`, [entity, no]);
      });
    }
    const idsOf = async (day: string, after: string) =>
      (await client().listEvents({ day, after })).events.map(({ eventId }) => eventId);
    expect(await idsOf(today, 'pay-0')).toEqual(['pay-2']);
    expect(await idsOf(dayOf(beginsMs - DAY_MS), 'pay-0')).toEqual(['pay-1']);
    expect(await idsOf(dayOf(beginsMs - DAY_MS), 'pay-2')).toEqual([]);
  });

  test('is summed up twice at a time for an entity: 429 beyond that, until one has ended', async () => {
    await publish(250);
    const stranger = await createTenant(store.db);
    const query = `${PATH}?day=${today}`;
    const all = [...Array.from({ length: 6 }, () => tenant), stranger];
    const responses = await Promise.all(all.map((each) => call(app, each, query)));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 200, 429, 429, 429, 429]);
    expect(responses.at(-1)?.status).toBe(200);
    for (const response of responses.filter(({ status }) => status === 429)) {
      expect(response.headers.get('retry-after')).toBe('1');
      expect((await expectProblem(response, 'rate_limited')).detail).toStartWith('2 reconciliations of this entity');
    }
    expect((await read()).events).toBe(250);
  });

  test('refuses a day that is none, that is to come, or that retention has begun to remove', async () => {
    const errorOf = async (query: string) => {
      const { errors } = await expectProblem(await call(app, tenant, PATH + query), 'invalid_request');
      return errors?.map(({ name, message }) => `${name} ${message}`).join();
    };
    expect(await errorOf('')).toStartWith('day is required');
    for (const day of ['2026-02-30', 'today', '2026-1-1', '']) {
      expect(await errorOf(`?day=${day}`)).toBe('day must be a day such as 2026-01-31');
    }
    expect(await errorOf(`?day=${dayOf(Date.now() + DAY_MS)}`)).toBe('day must not be in the future');
    expect(await errorOf(`?day=${dayOf(Date.now() - 31 * DAY_MS)}`)).toContain(
      'events are removed after their retention',
    );
    for (const path of ['', '/events']) {
      for (const id of ['ep_none', 'ep_0fffffffffffff']) {
        expect(await errorOf(`${path}?day=${today}&endpointId=${id}`)).toBe('endpointId must be the id of an endpoint');
      }
    }
    expect(await errorOf(`/events?day=${today}&after=none`)).toBe('after must be the id of an event');
  });
});
