import { expect, test } from 'bun:test';
import { destinationKey } from '../../../src/domain/post-url.ts';
import { readNowMs } from '../../../src/store/database/clock.ts';
import type { Database, SqlUuid } from '../../../src/store/database/database.ts';
import { LeaseClock } from '../../../src/store/database/lease-clock.ts';
import { entityKey, readInteger } from '../../../src/store/database/sql.ts';
import { claimDeliveries } from '../../../src/store/deliveries/claim/claim.ts';
import { bringForward } from '../../../src/store/deliveries/clock-step.ts';
import { endRedeliveries } from '../../../src/store/deliveries/redeliver/end.ts';
import { redeliver } from '../../../src/store/deliveries/redeliver/redeliver.ts';
import {
  acceptMany,
  claim,
  completeAll,
  databaseNowMs,
  HOOK,
  LEASE_MS,
  letPass,
  newReceiver,
  readDeliveries,
} from '../../support/deliveries.ts';
import { alteredStore, onSuiteEngine } from '../../support/stores.ts';

const TEN_MINUTES_MS = 600_000;
const schedule = [0, 5_000, 60_000];

/** Makes the rows of the entity look as if the clock had been set back by that much. */
const setBack = (db: Database, entityId: string, ms: number) => letPass(db, entityId, -ms);

async function setColumns(db: Database, entityId: string, columns: string): Promise<void> {
  const key = [entityKey(db.dialect, entityId)];
  await db.transaction((queries) => queries.run(`update queue set ${columns} where entity_id = $1`, key));
}

/** How long until the one delivery is due. */
async function waitsMs(db: Database, entityId: string): Promise<number> {
  const [delivery] = await readDeliveries(db, entityId);
  return (delivery?.dueMs ?? Number.NaN) - (await databaseNowMs(db));
}

onSuiteEngine('a clock that was set back', (store) => {
  test('makes no first attempt wait, however many there are', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1_100);
    await setBack(store.db, entityId, TEN_MINUTES_MS);
    expect(await claim(store.db, entityId)).toHaveLength(0);
    expect(await bringForward(store.db, schedule, 'step')).toBe(1_100);
    const nowMs = await databaseNowMs(store.db);
    const waiting = (await readDeliveries(store.db, entityId)).filter(({ dueMs }) => (dueMs ?? Infinity) > nowMs);
    expect(waiting).toHaveLength(0);
  });

  test.each([
    ['an hour', 3_600_000, 'start', false],
    ['ten seconds', 10_000, 'start', true],
    ['ten seconds', 10_000, 'step', false],
  ] as const)(
    'a task that waits %s (%d ms) after a step of the clock, by %s: %p',
    async (_, waitMs, occasion, stays) => {
      const entity = entityKey(store.db.dialect, (await newReceiver(store.db)).entityId);
      await store.db.transaction((queries) =>
        queries.run(
          `insert into tasks (entity_id, no, kind, subject, entity, phase, cursor, wait_ms)
         values ($1, $1, 'retract', $1, '', 'ending', '', ${store.db.dialect.nowMs} + $2)`,
          [entity, waitMs],
        ),
      );
      await bringForward(store.db, schedule, occasion);
      const isWaiting = (await readInteger(store.db, 'wait_ms', 'from tasks where entity_id = $1', [entity])) > 0;
      expect(isWaiting).toBe(stays);
      await store.db.transaction((queries) => queries.run('delete from tasks where entity_id = $1', [entity]));
    },
  );

  test('limits the due time of the deliveries that a task makes', async () => {
    const entity = entityKey(store.db.dialect, (await newReceiver(store.db)).entityId);
    const dueIn = () =>
      readInteger(store.db, `due_ms - ${store.db.dialect.nowMs}`, 'from tasks where entity_id = $1', [entity]);
    await store.db.transaction((queries) =>
      queries.run(
        `insert into tasks (entity_id, no, kind, subject, entity, phase, cursor, wait_ms, due_ms)
         values ($1, $1, 'fan_out', $1, '', 'walking', '', 0, ${store.db.dialect.nowMs} + ${TEN_MINUTES_MS})`,
        [entity],
      ),
    );
    await bringForward(store.db, schedule, 'start');
    expect(await dueIn()).toBeLessThanOrEqual(0);
    await store.db.transaction((queries) => queries.run('delete from tasks where entity_id = $1', [entity]));
  });

  test('limits the wait that follows a redelivery to the schedule', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    await setColumns(store.db, entityId, `redeliver = 1, scheduled_ms = due_ms + ${TEN_MINUTES_MS}`);
    expect(await bringForward(store.db, schedule, 'step')).toBe(1);
    const key = [entityKey(store.db.dialect, entityId)];
    const scheduledMs = await readInteger(store.db, 'scheduled_ms', 'from queue where entity_id = $1', key);
    expect(scheduledMs).toBeLessThanOrEqual(await databaseNowMs(store.db));
  });

  test('limits a lease to its length, and its delivery is due when it ends', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    await claim(store.db, entityId);
    await setBack(store.db, entityId, TEN_MINUTES_MS);
    expect(await bringForward(store.db, schedule, 'step')).toBe(1);
    const [delivery] = await readDeliveries(store.db, entityId);
    const nowMs = await databaseNowMs(store.db);
    expect((delivery?.leaseMs ?? Number.NaN) - nowMs).toBeLessThanOrEqual(LEASE_MS);
    expect(delivery?.dueMs).toBeLessThanOrEqual(nowMs);
  });

  test('makes a retry wait no longer than its step of the schedule', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    await setColumns(store.db, entityId, `steps = 2, attempts = 2, status_code = 500`);
    await setBack(store.db, entityId, TEN_MINUTES_MS);
    expect(await bringForward(store.db, schedule, 'step')).toBe(1);
    expect(await waitsMs(store.db, entityId)).toBeLessThanOrEqual(72_000);
    expect(await waitsMs(store.db, entityId)).toBeGreaterThan(10_000);
  });

  test('leaves the time that a receiver asked for', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    await setColumns(store.db, entityId, `steps = 1, attempts = 1, status_code = 429`);
    await setBack(store.db, entityId, TEN_MINUTES_MS);
    expect(await bringForward(store.db, schedule, 'step')).toBe(0);
    expect(await waitsMs(store.db, entityId)).toBeGreaterThan(TEN_MINUTES_MS / 2);
  });

  test('makes nothing wait after a start either, because nothing saw the step then', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 2);
    await claim(store.db, entityId, 1);
    await setBack(store.db, entityId, TEN_MINUTES_MS);
    await setColumns(store.db, entityId, `steps = 1, attempts = 1, status_code = 500`);
    expect(await bringForward(store.db, schedule, 'start')).toBe(2);
    expect(await waitsMs(store.db, entityId)).toBeLessThanOrEqual(6_000);
    const nowMs = await databaseNowMs(store.db);
    const leases = (await readDeliveries(store.db, entityId)).map(({ leaseMs }) => leaseMs);
    expect(Math.max(...leases) - nowMs).toBeLessThanOrEqual(LEASE_MS);
    expect(await bringForward(store.db, schedule, 'start')).toBe(0);
  });

  test('does not shorten the lease of an instance with a longer timeout', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    const destination = destinationKey(entityId, HOOK);
    await claimDeliveries(store.db, [{ destination, most: 1 }], 10 * LEASE_MS);
    const before = await readDeliveries(store.db, entityId);
    expect(await bringForward(store.db, schedule, 'step')).toBe(0);
    expect(await readDeliveries(store.db, entityId)).toEqual(before);
  });

  test('changes nothing that is due within its limits', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 3);
    await claim(store.db, entityId, 1);
    const before = await readDeliveries(store.db, entityId);
    expect(await bringForward(store.db, schedule, 'step')).toBe(0);
    expect(await readDeliveries(store.db, entityId)).toEqual(before);
  });
});

onSuiteEngine('a clock that was set forward', (store) => {
  /** The same database, whose clock is an hour ahead of what was read before. */
  function anHourLater(): Database {
    const { nowMs, planForClaims } = store.db.dialect;
    const laterMs = `(${nowMs} + 3600000)`;
    const later = { nowMs: laterMs, planForClaims: planForClaims.replace(nowMs, laterMs) };
    return alteredStore(store.db, { dialect: { ...store.db.dialect, leaseClock: new LeaseClock(), ...later } });
  }

  /** As in an instance that has read the clock before the step. */
  function watching(db: Database): Database {
    db.dialect.leaseClock.guard(LEASE_MS);
    db.dialect.leaseClock.note(Date.now());
    return db;
  }

  test.each([
    ['keeps its lease for an instance that saw the step', watching, 0],
    ['has lost its lease for any other', (db: Database) => db, 1],
  ] as const)('a delivery that is in flight %s', async (_, open, claimed) => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    expect(await claim(store.db, entityId)).toHaveLength(1);
    expect(await claim(open(anHourLater()), entityId)).toHaveLength(claimed);
  });

  test.each([
    ['stays in the queue for an instance that saw the step', watching, 0],
    ['ends for any other', (db: Database) => db, 1],
  ] as const)('a redelivery that is in flight %s', async (_, open, ended) => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    await completeAll(store.db, entityId, 'delivered');
    const [completed] = await readDeliveries(store.db, entityId);
    await redeliver(store.db, entityId, completed?.deliveryId ?? '');
    expect(await claim(store.db, entityId)).toHaveLength(1);
    const db = open(anHourLater());
    const rows = await store.db.all<{ id: SqlUuid }>('select id from queue where entity_id = $1', [
      entityKey(store.db.dialect, entityId),
    ]);
    const gone = await db.transaction(async (queries) =>
      endRedeliveries(queries, db.dialect, entityId, rows, await readNowMs(queries, db.dialect)),
    );
    expect(gone).toHaveLength(ended);
  });
});
