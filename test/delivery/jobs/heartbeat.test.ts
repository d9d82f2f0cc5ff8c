import { afterEach, expect, test } from 'bun:test';
import { Heartbeat, type HeartbeatOptions } from '../../../src/delivery/jobs/heartbeat.ts';
import { FleetShare } from '../../../src/delivery/queue/fleet-share.ts';
import type { Sender } from '../../../src/delivery/sender.ts';
import { Workers } from '../../../src/delivery/worker-health.ts';
import { createLogger } from '../../../src/log.ts';
import { LIVE_MS, readInstances } from '../../../src/store/instances.ts';
import {
  acceptMany,
  createEngine,
  forgetDeliveries,
  newReceiver,
  openWindow,
  respondedWith,
  ScriptedSender,
  statuses,
} from '../../support/deliveries.ts';
import { onlyOn } from '../../support/only-on.ts';
import { POSTGRES_ONLY } from '../../support/requirements.ts';
import { alteredStore, onSuiteEngine } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

onSuiteEngine('the heartbeat', (store) => {
  const onPostgres = onlyOn('postgres', store);
  const onSqlite = onlyOn('sqlite', store);
  afterEach(async () => {
    await store.db.transaction((queries) => queries.run('delete from instances'));
  });

  const newHeartbeat = (options: Partial<HeartbeatOptions> = {}) =>
    new Heartbeat({
      db: store.db,
      log: createLogger('silent'),
      role: 'all',
      host: 'test',
      workers: new Workers(),
      onInstances: () => undefined,
      ...options,
    });
  const moveClock = (ms: number) =>
    store.db.transaction((queries) => queries.run('update instances set seen_at_ms = seen_at_ms - $1', [ms]));
  const rows = async () => (await store.db.all('select id from instances')).length;

  onPostgres('counts the instances that deliver, from their first beat until they stop', async () => {
    const told: number[] = [];
    const one = newHeartbeat({ onInstances: ({ length }) => told.push(length) });
    const two = newHeartbeat({ role: 'delivery' });
    const api = newHeartbeat({ role: 'api' });
    await one.beat();
    await api.beat();
    expect([one.delivering, api.delivering, told]).toEqual([1, 1, []]);
    await two.beat();
    await one.beat();
    expect([one.delivering, two.delivering, told]).toEqual([2, 2, [2]]);
    await two.stop();
    await one.beat();
    expect([one.delivering, told]).toEqual([1, [2, 1]]);
    await one.stop();
    await api.stop();
    expect(await rows()).toBe(0);
  });

  onPostgres('is repeated as soon as an instance starts or stops', async () => {
    const [one, two] = [newHeartbeat(), newHeartbeat()];
    await one.join();
    await two.join();
    await until('the first knows of the second', () => one.delivering === 2);
    await two.stop();
    await until('the first knows that it is alone', () => one.delivering === 1);
    await one.stop();
    expect(await rows()).toBe(0);
  });

  onPostgres('tells of an instance that was replaced by another, although their number is the same', async () => {
    const told: (readonly string[])[] = [];
    const one = newHeartbeat({ onInstances: (delivering, own) => told.push(delivering.filter((id) => id !== own)) });
    const [two, three] = [newHeartbeat(), newHeartbeat()];
    await two.beat();
    await one.beat();
    await two.stop();
    await three.beat();
    await one.beat();
    expect(told.map((others) => others.length)).toEqual([1, 1]);
    expect(told[0]).not.toEqual(told[1] ?? []);
    for (const each of [one, three]) await each.stop();
  });

  onPostgres('does not count an instance that was not seen for half a minute, until it is seen again', async () => {
    const [one, two] = [newHeartbeat(), newHeartbeat()];
    await two.beat();
    // The rest of the time is for a machine that takes long from beat to beat.
    await moveClock(LIVE_MS - 25_000);
    await one.beat();
    expect(one.delivering).toBe(2);
    await moveClock(25_001);
    await one.beat();
    expect([one.delivering, await rows()]).toEqual([1, 1]);
    await two.beat();
    expect(two.delivering).toBe(2);
  });

  onPostgres('does not count the row of a dead instance from before the clock was set back', async () => {
    await newHeartbeat().beat();
    await moveClock(-3_600_000);
    const one = newHeartbeat();
    await one.beat();
    expect([one.delivering, await rows()]).toEqual([1, 1]);
  });

  test.skipIf(store.engine !== 'postgres').each([
    ['forward', 600_000],
    ['back', -600_000],
  ])(
    `counts every instance again once each was seen after the clock was set %s ${POSTGRES_ONLY}`,
    async (_, stepMs) => {
      const all = [newHeartbeat(), newHeartbeat({ role: 'delivery' }), newHeartbeat()];
      for (const each of all) await each.beat();
      const startedBefore = (await readInstances(store.db)).length;
      // To the rows that were written before, a clock that is set forward is one that they are behind.
      await moveClock(stepMs);
      for (const each of all) await each.beat();
      // The row of one that is late to notice is removed by the others, and comes back with its own beat.
      for (const each of all) await each.beat();
      expect([startedBefore, ...all.map(({ delivering }) => delivering)]).toEqual([3, 3, 3, 3]);
      expect(await readInstances(store.db)).toHaveLength(3);
      for (const each of all) await each.stop();
    },
  );

  onSqlite('counts one on SQLite, also right after another process was killed', async () => {
    await newHeartbeat().beat();
    const told: number[] = [];
    const restarted = newHeartbeat({ onInstances: ({ length }) => told.push(length) });
    await restarted.beat();
    expect([restarted.delivering, told, await rows()]).toEqual([1, [], 1]);
  });

  test('tells the others which of its workers keep failing', async () => {
    let nowMs = 0;
    const workers = new Workers(() => nowMs);
    const heartbeat = newHeartbeat({ workers, host: 'box-1' });
    const health = workers.add('claims');
    for (let count = 0; count < 3; count++) health.noteFailure(new Error('no room'));
    nowMs = 30_000;
    await heartbeat.beat();
    const problem = 'claims (3 failures): Error: no room';
    expect(await readInstances(store.db)).toMatchObject([{ role: 'all', host: 'box-1', delivers: true, problem }]);
    health.failuresInARow = 0;
    await heartbeat.beat();
    expect(await readInstances(store.db)).toMatchObject([{ problem: null }]);
  });

  test('stops although the store is down', async () => {
    let failures = 0;
    const transaction = () => {
      failures++;
      return Promise.reject(new Error('down'));
    };
    await newHeartbeat({ db: alteredStore(store.db, { transaction }) }).stop();
    expect(failures).toBe(1);
  });

  test.skipIf(store.engine !== 'postgres').each([
    ['lets two engines have no more requests in flight at a receiver than one may have', 2, 6],
    ['lets three engines have no more requests in flight than a cap of two, which is less than one for each', 3, 2],
  ])(`%s ${POSTGRES_ONLY}`, async (_, engines, cap) => {
    await forgetDeliveries(store.db);
    const { entityId } = await newReceiver(store.db);
    const held = Promise.withResolvers<void>();
    const sender = new ScriptedSender(async () => {
      await held.promise;
      return respondedWith(200);
    });
    const instances = Array.from({ length: engines }, () => {
      const sent = { count: 0 };
      const counting: Sender = {
        send: (request) => {
          sent.count++;
          return sender.send(request);
        },
      };
      const engine = createEngine(store.db, counting, { settings: { DESTINATION_CONCURRENCY: String(cap) } });
      const onInstances = (delivering: readonly string[], own: string) =>
        engine.limitDestinations(new FleetShare(cap, own, delivering));
      return { engine, sent, heartbeat: newHeartbeat({ onInstances }) };
    });
    const beatAll = async () => {
      for (const { heartbeat } of instances) await heartbeat.beat();
    };
    for (const { engine, sent } of instances) {
      await engine.start();
      // Those that run already may send some of them in its place.
      while (sent.count < cap) await openWindow(store.db, engine, sender, entityId);
    }
    // The first beat of each counts those before it.
    for (let round = 0; round < 2; round++) await beatAll();
    // More than one engine takes into its local queue.
    for (let round = 0; round < 4; round++) await acceptMany(store.db, entityId, 75);
    for (const { engine } of instances) engine.wake();
    await until('all of the cap is used', () => sender.mostInFlight >= cap);
    await Bun.sleep(50);
    const perSender = Math.max(1, cap / engines);
    expect(instances.map(({ engine }) => engine.inFlight).filter((inFlight) => inFlight > 0)).toEqual(
      Array.from({ length: cap / perSender }, () => perSender),
    );
    expect(sender.mostInFlight).toBe(cap);
    held.resolve();
    await until('all are delivered', async () =>
      (await statuses(store.db, entityId)).every((status) => status === 'delivered'),
    );
    expect(sender.mostInFlight).toBe(cap);
    for (const { engine, heartbeat } of instances) {
      await engine.stop();
      await heartbeat.stop();
    }
  });
});
