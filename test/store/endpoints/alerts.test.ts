import { beforeEach, expect, test } from 'bun:test';
import { endpointAlertsJob } from '../../../src/delivery/jobs/endpoint-alerts.ts';
import { ALERT_AFTER_MS, ALERT_EVERY_MS, SUSPEND_AFTER_MS } from '../../../src/domain/attempt.ts';
import { createLogger } from '../../../src/log.ts';
import type { SqlInteger, SqlValue } from '../../../src/store/database/database.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import { setNoticeUrl } from '../../../src/store/deliveries/alerts.ts';
import { markHeads } from '../../../src/store/deliveries/heads.ts';
import { alertFailingEndpoints, alertRecoveredEndpoints } from '../../../src/store/endpoints/alerts.ts';
import { deleteWebhook, moveWebhook } from '../../../src/store/webhooks/change.ts';
import { resumeWebhook, suspendWebhook } from '../../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { accept, HOOK, newEvent } from '../../support/deliveries.ts';
import { alteredTransactions, onSuiteEngine } from '../../support/stores.ts';
import { until } from '../../support/until.ts';
import { newEntity, register } from '../../support/webhooks.ts';

const ALERTS = 'https://alerts.example.com/paybell';
const OTHER = 'https://other.example.com/paybell';
const ALWAYS = () => true;

onSuiteEngine('an endpoint that keeps failing', (store) => {
  let entityId: string;
  let webhooks: { webhookId: string; event: string }[];

  beforeEach(async () => {
    entityId = await newEntity(store.db);
    await setNoticeUrl(store.db, entityId, ALERTS, TEST_CHANGE);
    const pairs = ['LatePayment', 'TransferCreated'].map((event) => ({ networkId: 1, event }));
    ({ webhooks } = await register(store.db, entityId, HOOK, pairs));
    for (const { event } of webhooks) await accept(store.db, newEvent(entityId, { event }));
  });

  const run = (sql: string, ...values: SqlValue[]) =>
    store.db.transaction((queries) => queries.run(sql, [entityKey(store.db.dialect, entityId), ...values]));
  const idOf = (event: string) => webhooks.find((webhook) => webhook.event === event)?.webhookId ?? '';
  const mark = async (event: string, isFailing: boolean) => {
    const sql =
      'select webhook_no, endpoint_no from queue_heads where entity_id = $1 and webhook_id = $2 and webhook_no > 0';
    const key = [entityKey(store.db.dialect, entityId), idOf(event)];
    const head = await store.db.get<{ webhook_no: SqlInteger; endpoint_no: SqlInteger }>(sql, key);
    const [webhookNo, endpointNo] = [Number(head?.webhook_no), Number(head?.endpoint_no)];
    await markHeads(store.db, [{ entityId, webhookNo, endpointNo, isFailing }]);
  };
  /** As if all that is known of failures were older by so much. */
  const letPass = async (ms: number) => {
    await run('update queue_heads set failing_since_ms = failing_since_ms - $2 where entity_id = $1', ms);
    await run(
      'update endpoint_alerts set failing_since_ms = failing_since_ms - $2, next_ms = next_ms - $2 where entity_id = $1',
      ms,
    );
  };
  const look = async () => {
    await alertRecoveredEndpoints(store.db);
    await alertFailingEndpoints(store.db);
  };
  const alerts = async () => {
    const rows = await store.db.all<{ event: string; body: string }>(
      `select event, body from events where entity_id = $1 and event like 'endpoint.%' order by no`,
      [entityKey(store.db.dialect, entityId)],
    );
    return rows.map(({ body }) => JSON.parse(body));
  };
  const kinds = async () => (await alerts()).map(({ event }) => event);

  test('is told of after an hour and not before, once for all its webhooks', async () => {
    await mark('LatePayment', true);
    await letPass(60_000);
    await mark('TransferCreated', true);
    await letPass(ALERT_AFTER_MS - 120_000);
    await look();
    expect(await alerts()).toEqual([]);
    await letPass(240_000);
    await look();
    await look();
    const [alert, ...others] = await alerts();
    expect(others).toEqual([]);
    expect(alert).toEqual({
      eventId: expect.stringMatching(/^evt_/),
      event: 'endpoint.failing',
      endpoint: { endpointId: expect.stringMatching(/^ep_/), postUrl: HOOK, name: null },
      webhooks: ['LatePayment', 'TransferCreated'].map((event) => ({ webhookId: idOf(event), networkId: 1, event })),
      totalWebhooks: 2,
      dateFailingSince: expect.any(Number),
      dateSuspension: alert.dateFailingSince + SUSPEND_AFTER_MS / 1000,
    });
    const queued = await store.db.all<{ post_url: string }>(
      `select h.post_url from queue q join queue_heads h on h.entity_id = q.entity_id and h.webhook_no = q.webhook_no
       where q.entity_id = $1 and h.event = 'endpoint.failing'`,
      [entityKey(store.db.dialect, entityId)],
    );
    expect(queued).toEqual([{ post_url: ALERTS }]);
  });

  test('is told of again every day, and once when a delivery succeeds', async () => {
    await mark('LatePayment', true);
    await letPass(ALERT_AFTER_MS);
    await look();
    await letPass(ALERT_EVERY_MS - 60_000);
    await look();
    expect(await kinds()).toEqual(['endpoint.failing']);
    await letPass(60_000);
    await look();
    await look();
    expect(await kinds()).toEqual(['endpoint.failing', 'endpoint.failing']);
    await mark('LatePayment', false);
    await look();
    await look();
    const told = await alerts();
    expect(told.map(({ event }) => event)).toEqual(['endpoint.failing', 'endpoint.failing', 'endpoint.recovered']);
    expect(told[2]).toEqual({
      eventId: expect.any(String),
      event: 'endpoint.recovered',
      endpoint: told[0].endpoint,
      dateFailingSince: expect.any(Number),
      dateRecovered: expect.any(Number),
    });
    await mark('LatePayment', true);
    await letPass(ALERT_AFTER_MS);
    await look();
    expect((await kinds()).slice(3)).toEqual(['endpoint.failing']);
  });

  test('has recovered when the last of its webhooks has, and not with the first', async () => {
    for (const { event } of webhooks) await mark(event, true);
    await letPass(ALERT_AFTER_MS);
    await look();
    await mark('LatePayment', false);
    await look();
    await look();
    expect(await kinds()).toEqual(['endpoint.failing']);
    await mark('TransferCreated', false);
    await look();
    expect(await kinds()).toEqual(['endpoint.failing', 'endpoint.recovered']);
  });

  test('has recovered also where it fails again before anyone looked', async () => {
    await mark('LatePayment', true);
    await letPass(ALERT_AFTER_MS);
    await look();
    await mark('LatePayment', false);
    await mark('LatePayment', true);
    await look();
    expect(await kinds()).toEqual(['endpoint.failing', 'endpoint.recovered']);
  });

  test('is told of once by several instances that look at the same moment', async () => {
    await mark('LatePayment', true);
    await letPass(ALERT_AFTER_MS);
    await Promise.all(Array.from({ length: 4 }, () => alertFailingEndpoints(store.db)));
    expect(await kinds()).toEqual(['endpoint.failing']);
    await mark('LatePayment', false);
    await Promise.all(Array.from({ length: 4 }, () => alertRecoveredEndpoints(store.db)));
    expect(await kinds()).toEqual(['endpoint.failing', 'endpoint.recovered']);
  });

  test('is not said to have recovered when its webhook was suspended, resumed, deleted or moved', async () => {
    const webhookId = idOf('LatePayment');
    const begin = async () => {
      await mark('LatePayment', true);
      await letPass(ALERT_AFTER_MS);
      await look();
    };
    await begin();
    await suspendWebhook(store.db, entityId, webhookId, 'failing', TEST_CHANGE);
    await look();
    await resumeWebhook(store.db, entityId, webhookId, TEST_CHANGE);
    await look();
    await begin();
    await suspendWebhook(store.db, entityId, webhookId, 'failing', TEST_CHANGE);
    await resumeWebhook(store.db, entityId, webhookId, TEST_CHANGE);
    await look();
    await begin();
    await moveWebhook(store.db, entityId, webhookId, OTHER, ALWAYS, TEST_CHANGE);
    await look();
    await begin();
    await deleteWebhook(store.db, entityId, webhookId, ALWAYS, TEST_CHANGE);
    await look();
    const told = await alerts();
    expect(told.map(({ event }) => event)).toEqual(Array(4).fill('endpoint.failing'));
    expect(told.map(({ endpoint }) => endpoint.postUrl)).toEqual([HOOK, HOOK, HOOK, OTHER]);
    expect(
      await store.db.all('select * from endpoint_alerts where entity_id = $1', [entityKey(store.db.dialect, entityId)]),
    ).toEqual([]);
  });

  test('is not told of while it is paused, and goes on where it was', async () => {
    await mark('LatePayment', true);
    await letPass(ALERT_AFTER_MS);
    await run('update queue_heads set blocked = 2 where entity_id = $1');
    await look();
    expect(await alerts()).toEqual([]);
    await run('update queue_heads set blocked = 0 where entity_id = $1');
    await look();
    await run('update queue_heads set blocked = 2 where entity_id = $1');
    await letPass(ALERT_EVERY_MS);
    await look();
    expect(await kinds()).toEqual(['endpoint.failing']);
    await run('update queue_heads set blocked = 0 where entity_id = $1 and webhook_no > 0');
    await mark('LatePayment', false);
    await look();
    expect(await kinds()).toEqual(['endpoint.failing', 'endpoint.recovered']);
  });

  test('is told of within a minute after a URL for alerts was set, and never without one', async () => {
    await setNoticeUrl(store.db, entityId, null, TEST_CHANGE);
    await mark('LatePayment', true);
    await letPass(ALERT_AFTER_MS);
    await look();
    expect(await alerts()).toEqual([]);
    await setNoticeUrl(store.db, entityId, ALERTS, TEST_CHANGE);
    await look();
    expect(await kinds()).toEqual(['endpoint.failing']);
  });

  /** Looks, and once the first statement with this text has run, changes the URL: at once, or when the look is over. */
  async function changeDuringLook(text: string, noticeUrl: string | null): Promise<void> {
    let changed: Promise<void> | null = null;
    const change = async (sql: string) => {
      if (changed !== null || !sql.includes(text)) return;
      changed = setNoticeUrl(store.db, entityId, noticeUrl, TEST_CHANGE);
      // It may have to wait for the transaction that it is in.
      await Promise.race([changed, Bun.sleep(500)]);
    };
    const db = alteredTransactions(store.db, (queries) => ({
      get: async <Row>(sql: string, params?: readonly SqlValue[]) => {
        const row = await queries.get<Row>(sql, params);
        await change(sql);
        return row;
      },
      run: async (sql, params) => {
        const rows = await queries.run(sql, params);
        await change(sql);
        return rows;
      },
    }));
    await alertFailingEndpoints(db);
    await alertRecoveredEndpoints(db);
    expect(changed).not.toBeNull();
    await changed;
  }
  const liveAlertHeads = async () => {
    const sql = 'select blocked from queue_heads where entity_id = $1 and webhook_no < 0';
    const heads = await store.db.all<{ blocked: SqlInteger }>(sql, [entityKey(store.db.dialect, entityId)]);
    return heads.filter(({ blocked }) => Number(blocked) === 0).length;
  };

  test('sends no alert to a URL that is removed while the alert is queued', async () => {
    await mark('LatePayment', true);
    await letPass(ALERT_AFTER_MS);
    await changeDuringLook('notice_url', null);
    expect(await liveAlertHeads()).toBe(0);
    await setNoticeUrl(store.db, entityId, ALERTS, TEST_CHANGE);
    await mark('LatePayment', false);
    await changeDuringLook('notice_url', null);
    expect(await liveAlertHeads()).toBe(0);
  });

  test('is told of while a URL for alerts is set, without a deadlock of the two', async () => {
    await setNoticeUrl(store.db, entityId, null, TEST_CHANGE);
    await mark('LatePayment', true);
    await letPass(ALERT_AFTER_MS);
    await look();
    await letPass(ALERT_EVERY_MS);
    await changeDuringLook('insert into endpoint_alerts', ALERTS);
    await look();
    expect(await kinds()).toEqual(['endpoint.failing']);
  });

  test('is told of by the job, which wakes the engine for the alert', async () => {
    await mark('LatePayment', true);
    await letPass(ALERT_AFTER_MS);
    let woken = 0;
    const job = endpointAlertsJob(store.db, createLogger('silent'), () => woken++);
    job.wake();
    await until('the engine is woken', () => woken > 0);
    await job.stop();
    expect(await kinds()).toEqual(['endpoint.failing']);
  });
});
