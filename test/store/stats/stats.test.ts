import { beforeEach, describe, expect, test } from 'bun:test';
import type { Stats } from '../../../src/contract/stats.ts';
import { destinationKey } from '../../../src/domain/post-url.ts';
import { createLogger } from '../../../src/log.ts';
import { Counter } from '../../../src/metrics/registry.ts';
import { type Database, StoreUnavailableError } from '../../../src/store/database/database.ts';
import { PacedBatches } from '../../../src/store/database/paced-batches.ts';
import { entityKey, readInteger } from '../../../src/store/database/sql.ts';
import { prune } from '../../../src/store/deliveries/retention/retention.ts';
import { newId } from '../../../src/store/new-id.ts';
import { pruneStats, readStats } from '../../../src/store/stats/read.ts';
import { StatsRecorder } from '../../../src/store/stats/recorder.ts';
import { createTenant } from '../../support/api.ts';
import { alteredStore, onSuiteEngine } from '../../support/stores.ts';

const MIDNIGHT_S = 1_763_164_800;
const DAY = { intervalS: 86_400, startS: MIDNIGHT_S, endS: MIDNIGHT_S + 86_400 };
const A = 'https://a.example.com:443';
const B = 'https://b.example.com:443';

onSuiteEngine('statistics', (store) => {
  let entityId: string;
  let nowS: number;
  let dropped: Counter;
  let recorder: StatsRecorder;

  beforeEach(() => {
    entityId = newId('ent');
    nowS = MIDNIGHT_S;
    dropped = new Counter();
    recorder = recorderOn(store.db);
  });

  const recorderOn = (db: Database) => new StatsRecorder(db, createLogger('silent'), () => nowS * 1_000, dropped);
  const at = (destination: string) => destinationKey(entityId, destination);
  const read = (range = DAY, destination?: string) => readStats(store.db, entityId, range, destination);
  const counts = ({ events, accepted, delivered, failed }: Stats['total']) => [events, accepted, delivered, failed];

  test('sum up accepted, delivered and failed, in total and by destination', async () => {
    recorder.accepted(entityId, [at(A), at(B)]);
    recorder.accepted(entityId, [at(A)]);
    recorder.accepted(entityId, []);
    recorder.delivered(at(A), 20);
    recorder.delivered(at(A), 2_000);
    recorder.failed(at(B));
    await recorder.flush();
    const stats = await read();
    expect(counts(stats.total)).toEqual([3, 3, 2, 1]);
    expect(stats.total.timeToReceiptMs).toEqual({ p50: 20, p95: 1_932, p99: 1_932 });
    expect(stats.totalDestinations).toBe(2);
    expect(stats.destinations).toMatchObject([
      { destination: A, accepted: 2, delivered: 2, failed: 0 },
      { destination: B, accepted: 1, delivered: 0, failed: 1, timeToReceiptMs: { p50: null, p95: null, p99: null } },
    ]);
  });

  test('count attempts from the first that fails on, and of a time before they were counted the last of each', async () => {
    recorder.failedAttempt(at(A));
    recorder.failedAttempt(at(A));
    recorder.failed(at(A));
    recorder.delivered(at(A), 20);
    recorder.deliveredAgain(at(A));
    // As an earlier version counted it.
    recorder.failed(at(B));
    await recorder.flush();
    const { destinations, total } = await read();
    expect(destinations).toMatchObject([
      { destination: A, delivered: 1, failed: 1, attempts: 4, failedAttempts: 2 },
      { destination: B, delivered: 0, failed: 1, attempts: 1, failedAttempts: 1 },
    ]);
    expect(total).toMatchObject({ delivered: 1, failed: 2 });
    expect((await read(DAY, A)).total).toMatchObject({ attempts: 4, failedAttempts: 2 });
  });

  test('belong to the minute in which it happened, and hours and days are sums of minutes', async () => {
    for (const second of [0, 59, 60, 3_600, 86_399]) {
      nowS = MIDNIGHT_S + second;
      recorder.accepted(entityId, [at(A)]);
    }
    await recorder.flush();
    const minutes = await read({ intervalS: 60, startS: MIDNIGHT_S, endS: MIDNIGHT_S + 180 });
    expect(minutes.intervals.map(({ dateStart, events }) => [dateStart - MIDNIGHT_S, events])).toEqual([
      [0, 2],
      [60, 1],
      [120, 0],
    ]);
    const hours = await read({ ...DAY, intervalS: 3_600 });
    expect(hours.intervals).toHaveLength(24);
    expect(
      hours.intervals.filter(({ events }) => events !== 0).map(({ dateStart, events }) => [dateStart, events]),
    ).toEqual([
      [MIDNIGHT_S, 3],
      [MIDNIGHT_S + 3_600, 1],
      [MIDNIGHT_S + 23 * 3_600, 1],
    ]);
    const days = await read({ intervalS: 86_400, startS: MIDNIGHT_S - 86_400, endS: MIDNIGHT_S + 86_400 });
    expect(days.intervals.map(({ accepted }) => accepted)).toEqual([0, 5]);
    expect(days.total.accepted).toBe(5);
    // By destination they are read from the longest intervals that fit, which must give the same sums.
    const odd = await read({ intervalS: 3_600, startS: MIDNIGHT_S - 3_600, endS: MIDNIGHT_S + 86_400 + 3_600 });
    for (const { total, destinations } of [minutes, hours, days, odd]) {
      expect(destinations.map(({ accepted }) => accepted)).toEqual([total.accepted]);
    }
    expect(odd.total.accepted).toBe(5);
  });

  test('of destinations are kept by the hour: a range of minutes shows the hours that it touches, and says so', async () => {
    for (const second of [0, 3_540, 3_600, 7_200]) {
      nowS = MIDNIGHT_S + second;
      recorder.accepted(entityId, [at(A)]);
    }
    await recorder.flush();
    const stats = await read({ intervalS: 60, startS: MIDNIGHT_S + 3_540, endS: MIDNIGHT_S + 3_660 });
    expect(stats.total.accepted).toBe(2);
    expect(stats.intervals.map(({ accepted }) => accepted)).toEqual([1, 1]);
    expect([stats.destinationsDateStart, stats.destinationsDateEnd]).toEqual([MIDNIGHT_S, MIDNIGHT_S + 7_200]);
    expect(stats.destinations.map(({ accepted }) => accepted)).toEqual([3]);
  });

  test('of more destinations than are read at once are complete', async () => {
    const destinations = Array.from({ length: 2_600 }, (_, index) => at(`https://h${index}.example.com:443`));
    for (const second of [0, 3_600]) {
      nowS = MIDNIGHT_S + second;
      recorder.accepted(entityId, [...destinations, at(A)]);
    }
    await recorder.flush();
    const stats = await read({ ...DAY, intervalS: 3_600, endS: MIDNIGHT_S + 7_200 });
    expect(stats.totalDestinations).toBe(2_601);
    expect(stats.destinations.every(({ accepted }) => accepted === 2)).toBe(true);
    expect(counts((await read(DAY, A)).total)).toEqual([null, 2, 0, 0]);
  });

  test('show one destination alone on request, and nothing for an unknown one', async () => {
    recorder.accepted(entityId, [at(A), at(B), at(B)]);
    await recorder.flush();
    const stats = await read(DAY, B);
    expect(counts(stats.total)).toEqual([null, 2, 0, 0]);
    expect(stats.intervals.map(counts)).toEqual([[null, 2, 0, 0]]);
    expect(stats.destinations.map(({ destination }) => destination)).toEqual([B]);
    expect(await read(DAY, 'https://unknown.example.com:443')).toMatchObject({
      destinations: [],
      total: { accepted: 0 },
    });
  });

  test('belong to the entity alone', async () => {
    const other = newId('ent');
    recorder.accepted(other, [destinationKey(other, A)]);
    await recorder.flush();
    expect(counts((await read()).total)).toEqual([0, 0, 0, 0]);
  });

  test('add up over flushes and over processes that write at once', async () => {
    const others = Array.from({ length: 4 }, () => recorderOn(store.db));
    for (let round = 0; round < 5; round++) {
      for (const one of others) {
        for (let index = 0; index < 20; index++) one.accepted(entityId, [at(`https://h${index}.example.com:443`)]);
        one.delivered(at(A), 10 + round);
      }
      await Promise.all(others.map((one) => one.flush()));
    }
    const stats = await read();
    expect(counts(stats.total)).toEqual([400, 400, 20, 0]);
    expect(stats.totalDestinations).toBe(21);
  });

  test('show the hundred busiest destinations and how many there are', async () => {
    for (let index = 0; index < 130; index++) {
      const destination = at(`https://h${String(index).padStart(3, '0')}.example.com:443`);
      recorder.accepted(entityId, Array(index < 30 ? 1 : 2).fill(destination));
    }
    await recorder.flush();
    const { totalDestinations, destinations } = await read();
    expect(totalDestinations).toBe(130);
    expect(destinations).toHaveLength(100);
    expect(destinations[0]?.destination).toBe('https://h030.example.com:443');
    expect(destinations.every(({ accepted }) => accepted === 2)).toBe(true);
  });

  describe('when the store is unavailable', () => {
    test('are kept for the next flush, and nothing is counted twice', async () => {
      let down = true;
      const transaction: Database['transaction'] = (...call) => {
        if (down) throw new StoreUnavailableError('down');
        return store.db.transaction(...call);
      };
      const failing = recorderOn(alteredStore(store.db, { transaction }));
      failing.accepted(entityId, [at(A)]);
      await failing.flush();
      failing.accepted(entityId, [at(A)]);
      await failing.flush();
      expect(counts((await read()).total)).toEqual([0, 0, 0, 0]);
      down = false;
      await failing.flush();
      await failing.flush();
      await failing.flush();
      expect(counts((await read()).total)).toEqual([2, 2, 0, 0]);
      expect(dropped.value).toBe(0);
    });

    test('are dropped above a limit, and the drops are counted', async () => {
      const transaction: Database['transaction'] = () => Promise.reject(new StoreUnavailableError('down'));
      const failing = recorderOn(alteredStore(store.db, { transaction }));
      for (let index = 0; index < 50_010; index++) failing.failed(at(`https://h${index}.example.com:443`));
      expect(dropped.value).toBe(10);
      failing.failed(at('https://h0.example.com:443'));
      expect(dropped.value).toBe(10);
    });

    test('are written without the rows that the store rejects', async () => {
      let refusing = true;
      const transaction: Database['transaction'] = (...call) => {
        if (refusing) throw new Error('refused');
        return store.db.transaction(...call);
      };
      const failing = recorderOn(alteredStore(store.db, { transaction }));
      failing.failed(at(A));
      await failing.flush();
      expect(dropped.value).toBeGreaterThan(0);
      refusing = false;
      failing.failed(at(B));
      await failing.flush();
      expect((await read()).destinations).toMatchObject([{ destination: B, failed: 1 }]);
    });
  });

  test('that are old are removed in parts, and intervals that overlap the retention stay', async () => {
    for (const second of [0, 60, 3_600, 7_200]) {
      nowS = MIDNIGHT_S + second;
      recorder.accepted(entityId, [at(A)]);
    }
    await recorder.flush();
    const rows = async () => {
      const entity = entityKey(store.db.dialect, entityId);
      return readInteger(store.db, 'count(*)', 'from interval_stats where entity_id = $1', [entity]);
    };
    // Four minutes, three hours and a day of all destinations, and the hours and the day of the one.
    expect(await rows()).toBe(4 + 2 * (3 + 1));
    const prune = (limit: number) => pruneStats(store.db, entityId, MIDNIGHT_S + 7_199, limit);
    expect(await prune(2)).toBe(2);
    expect(await prune(2)).toBe(2);
    // All three minutes have ended by then, but of the hours only the first.
    expect(await prune(100)).toBe(3 + 2 - 4);
    expect(await prune(100)).toBe(0);
    expect(await rows()).toBe(1 + 2 * (2 + 1));
    expect((await read({ ...DAY, intervalS: 3_600 })).total.accepted).toBe(2);
  });

  test('are removed by RETENTION with the rest, once their day is over', async () => {
    const { entityId: owner } = await createTenant(store.db);
    recorder.accepted(owner, [destinationKey(owner, A)]);
    await recorder.flush();
    const left = async () => (await readStats(store.db, owner, DAY, undefined)).total.accepted;
    const pruneAt = (second: number, dryRun: boolean) => {
      const batches = new PacedBatches(store.engine, 0);
      return prune(store.db, {
        olderThanMs: 86_400_000,
        batches,
        dryRun,
        nowMs: (MIDNIGHT_S + 86_400 + second) * 1_000,
      });
    };
    await pruneAt(86_399, false);
    expect(await left()).toBe(1);
    await pruneAt(86_400, true);
    expect(await left()).toBe(1);
    await pruneAt(86_400, false);
    expect(await left()).toBe(0);
  });
});
