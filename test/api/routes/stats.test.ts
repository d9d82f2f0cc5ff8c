import { beforeEach, expect, test } from 'bun:test';
import type { App } from '../../../src/api/app.ts';
import { type Stats, statsSchema } from '../../../src/contract/stats.ts';
import { destinationKey } from '../../../src/domain/post-url.ts';
import { createLogger } from '../../../src/log.ts';
import { Counter } from '../../../src/metrics/registry.ts';
import { AcceptQueue } from '../../../src/store/events/accept-queue.ts';
import { StatsRecorder } from '../../../src/store/stats/recorder.ts';
import { call, createTenant, type Tenant, testApp } from '../../support/api.ts';
import { addReceiver, LATE_ON_1, letPass } from '../../support/deliveries.ts';
import { expectProblem } from '../../support/problems.ts';
import { onSuiteEngine } from '../../support/stores.ts';

const STATS = '/api/v1/crypto/stats';
const EVENTS = '/api/v1/crypto/events';

onSuiteEngine('GET /stats', (store) => {
  let tenant: Tenant;
  let recorder: StatsRecorder;
  let app: App;

  beforeEach(async () => {
    tenant = await createTenant(store.db);
    recorder = new StatsRecorder(store.db, createLogger('silent'), Date.now, new Counter());
    const acceptQueue = new AcceptQueue(store.db, {
      onDue: () => undefined,
      onAccepted: (...accepted) => recorder.accepted(...accepted),
    });
    app = testApp(store.db, {}, { acceptQueue });
  });

  async function read(query = ''): Promise<Stats> {
    const response = await call(app, tenant, STATS + query);
    expect(response.status).toBe(200);
    return statsSchema.parse(await response.json());
  }

  test('is all zeros and nulls before anything happened, for the last 24 hours', async () => {
    const stats = await read();
    const timeToReceiptMs = { p50: null, p95: null, p99: null };
    const nothing = {
      ...{ events: 0, accepted: 0, delivered: 0, failed: 0, attempts: 0, failedAttempts: 0 },
      timeToReceiptMs,
    };
    expect(stats).toMatchObject({ interval: 'hour', total: nothing, totalDestinations: 0, destinations: [] });
    expect(stats.intervals).toHaveLength(24);
    expect(stats.intervals.every(({ dateStart, ...row }) => Bun.deepEquals(row, nothing))).toBe(true);
    expect(stats.backlog).toEqual({ waiting: 0, oldestDueAgeMs: 0, limit: 1_000_000 });
    expect(stats.storage).toEqual({ usedBytes: 0, limitBytes: 50 * 2 ** 30 });
  });

  test('counts an event once and its deliveries each, however often the event is repeated', async () => {
    await addReceiver(store.db, tenant.entityId, 'https://a.example.com/1');
    await addReceiver(store.db, tenant.entityId, 'https://a.example.com/2');
    await addReceiver(store.db, tenant.entityId, 'https://b.example.com/');
    for (const status of [202, 200, 200]) {
      const response = await call(app, tenant, EVENTS, { json: { ...LATE_ON_1, eventId: 'once' } });
      expect(response.status).toBe(status);
    }
    await call(app, tenant, EVENTS, { json: { event: 'TransferCreated', networkId: 1 } });
    await recorder.flush();
    const { total, destinations, backlog } = await read('?interval=minute');
    expect(total).toMatchObject({ events: 2, accepted: 3, delivered: 0, failed: 0 });
    expect(destinations.map(({ destination, accepted }) => [destination, accepted])).toEqual([
      ['https://a.example.com:443', 2],
      ['https://b.example.com:443', 1],
    ]);
    expect(backlog.waiting).toBe(3);
    const ofA = await read(`?interval=day&destination=${encodeURIComponent('https://a.example.com:443')}`);
    expect(ofA.total).toMatchObject({ events: null, accepted: 2 });
    expect(ofA.intervals).toHaveLength(30);
    const byMinute = await read(`?interval=minute&destination=${encodeURIComponent('https://a.example.com:443')}`);
    expect(byMinute).toMatchObject({ interval: 'hour', total: { events: null, accepted: 2 } });
    expect([byMinute.dateStart % 3_600, byMinute.dateEnd % 3_600]).toEqual([0, 0]);
  });

  test('shows the destinations with the most failed attempts first where that is asked for', async () => {
    const at = (host: string) => destinationKey(tenant.entityId, `https://${host}.example.com/`);
    for (let time = 0; time < 3; time++) recorder.delivered(at('busy'), 10);
    for (let time = 0; time < 2; time++) recorder.failedAttempt(at('broken'));
    await recorder.flush();
    const orderOf = async (query: string) => (await read(query)).destinations.map(({ destination }) => destination);
    const [busy, broken] = ['https://busy.example.com:443', 'https://broken.example.com:443'];
    expect(await orderOf('')).toEqual([busy, broken]);
    expect(await orderOf('?sortBy=traffic')).toEqual([busy, broken]);
    expect(await orderOf('?sortBy=failures')).toEqual([broken, busy]);
    expect((await read()).total).toMatchObject({ delivered: 3, failed: 0, attempts: 5, failedAttempts: 2 });
  });

  test('says how long the first delivery has been due, of this entity alone', async () => {
    const other = await createTenant(store.db);
    for (const { entityId } of [tenant, other]) await addReceiver(store.db, entityId, 'https://a.example.com/1');
    await call(app, tenant, EVENTS, { json: LATE_ON_1 });
    await call(app, other, EVENTS, { json: LATE_ON_1 });
    await letPass(store.db, tenant.entityId, 60_000);
    await letPass(store.db, other.entityId, 3_600_000);
    const { oldestDueAgeMs } = (await read()).backlog;
    expect(oldestDueAgeMs).toBeGreaterThanOrEqual(60_000);
    expect(oldestDueAgeMs).toBeLessThan(3_600_000);
  });

  test('takes the range that is asked for, in whole intervals', async () => {
    const stats = await read('?interval=minute&since=61&until=121');
    expect([stats.dateStart, stats.dateEnd]).toEqual([60, 180]);
    expect(stats.intervals.map(({ dateStart }) => dateStart)).toEqual([60, 120]);
  });

  test('is 304 for a client that already has it', async () => {
    const query = '?since=3600&until=7200';
    const etag = (await call(app, tenant, STATS + query)).headers.get('etag') ?? '';
    expect((await call(app, tenant, STATS + query, { headers: { 'if-none-match': etag } })).status).toBe(304);
  });

  test('names every invalid parameter of the query', async () => {
    const errorNames = async (query: string) => {
      const { errors = [] } = await expectProblem(await call(app, tenant, STATS + query), 'invalid_request');
      return errors.map(({ name }) => name);
    };
    expect(await errorNames('?interval=week&since=x&until=-1&destination=&sortBy=name')).toEqual([
      'interval',
      'since',
      'until',
      'destination',
      'sortBy',
    ]);
    expect(await errorNames('?since=7200&until=3600')).toEqual(['since']);
    expect(await errorNames('?interval=minute&since=0')).toEqual(['since']);
    expect(await errorNames('?page=1')).toEqual(['page']);
  });
});
