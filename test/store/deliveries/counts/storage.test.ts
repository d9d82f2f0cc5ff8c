import { expect, test } from 'bun:test';
import { PAUSE, PacedBatches } from '../../../../src/store/database/paced-batches.ts';
import { EntityUsage } from '../../../../src/store/deliveries/counts/usage.ts';
import { recordAttempts } from '../../../../src/store/deliveries/record/record-attempts.ts';
import { redeliver } from '../../../../src/store/deliveries/redeliver/redeliver.ts';
import { prune } from '../../../../src/store/deliveries/retention/retention.ts';
import {
  accept,
  claim,
  databaseNowMs,
  failedWith,
  letPass,
  newEvent,
  newReceiver,
  respondedWith,
} from '../../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../../support/delivery-counters.ts';
import { seededRandom } from '../../../support/random.ts';
import { rejection } from '../../../support/rejection.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { newEntity } from '../../../support/webhooks.ts';

const NO_LIMIT = Number.MAX_SAFE_INTEGER;
const DAY_MS = 86_400_000;

/** As acceptance takes them: JSON objects, which retention reads to find out what an event was about. */
const bodyWith = (note: string) => JSON.stringify({ note });

onSuiteEngine('the storage of an entity', (store) => {
  const stored = async (entityId: string) => (await new EntityUsage(store.db, NO_LIMIT).read(entityId)).storedBytes;

  const pruneAll = async () =>
    prune(store.db, {
      olderThanMs: 1,
      batches: new PacedBatches(store.engine, PAUSE.foreground),
      nowMs: (await databaseNowMs(store.db)) + DAY_MS,
    });

  test('has room below its limit and none from it on, also without a webhook, and has room again after retention', async () => {
    const entityId = await newEntity(store.db);
    await accept(store.db, newEvent(entityId, { body: bodyWith('é'.repeat(5_000)), eventId: 'one' }));
    const bytes = await stored(entityId);
    expect(bytes).toBe('{"note":""}'.length + 10_000 + 3 + 150);
    await new EntityUsage(store.db, NO_LIMIT, bytes + 1).requireRoom(entityId);
    const full = rejection(new EntityUsage(store.db, NO_LIMIT, bytes).requireRoom(entityId));
    expect(await full).toMatchObject({ kind: 'storage_full', facts: { storedBytes: bytes, limitBytes: bytes } });
    await pruneAll();
    expect(await stored(entityId)).toBe(0);
    await new EntityUsage(store.db, NO_LIMIT, 1).requireRoom(entityId);
  });

  test('grows with what is accepted between two counts, and is of each entity alone', async () => {
    const [one, two] = [await newEntity(store.db), await newEntity(store.db)];
    const usage = new EntityUsage(store.db, NO_LIMIT, 1_000);
    for (const entityId of [one, two]) await usage.requireRoom(entityId);
    await accept(store.db, newEvent(one, { body: bodyWith('x'.repeat(1_000)) }));
    usage.add(one, 0, 1_000);
    expect(await rejection(usage.requireRoom(one))).toMatchObject({ kind: 'storage_full' });
    await usage.requireRoom(two);
  });

  test('counts responses and every attempt, until retention takes them all', async () => {
    const { entityId } = await newReceiver(store.db);
    await accept(store.db, newEvent(entityId, { body: '{}' }));
    const before = await stored(entityId);
    const [delivery] = await claim(store.db, entityId);
    if (delivery === undefined) throw new Error('nothing to claim');
    const outcome = respondedWith(200, { body: 'ü'.repeat(100) });
    const next = { status: 'delivered', steps: 1, delayMs: null, suspend: null } as const;
    await store.db.transaction((queries) =>
      recordAttempts(queries, store.db.dialect, [{ delivery, outcome, next, startedAtMs: 0 }]),
    );
    expect((await stored(entityId)) - before).toBe(200);
    await redeliver(store.db, entityId, delivery.deliveryId);
    expect((await stored(entityId)) - before).toBe(200 + 100 + delivery.postUrl.length);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
    await pruneAll();
    const [again] = await claim(store.db, entityId);
    if (again === undefined) throw new Error('nothing to claim');
    await store.db.transaction((queries) =>
      recordAttempts(queries, store.db.dialect, [{ delivery: again, outcome, next, startedAtMs: 0 }]),
    );
    await pruneAll();
    expect(await stored(entityId)).toBe(0);
  });

  test('equals a count of the rows after any order of changes', async () => {
    const random = seededRandom(16);
    const { entityId } = await newReceiver(store.db);
    const known: string[] = [];
    const steps: Record<string, () => Promise<unknown>> = {
      accept: () => {
        const body = bodyWith('ß'.repeat(random.below(500)));
        return accept(store.db, newEvent(entityId, { body, eventId: `e${random.below(40)}` }));
      },
      attempt: async () => {
        const claimed = await claim(store.db, entityId, 1 + random.below(4));
        known.push(...claimed.map(({ deliveryId }) => deliveryId));
        const made = claimed.map((delivery) => {
          const arrives = random.below(2) === 0;
          const outcome = arrives ? respondedWith(200, { body: 'ö'.repeat(random.below(300)) }) : failedWith('dns');
          const delayMs = arrives || random.below(2) === 0 ? null : 60_000;
          const status = arrives ? 'delivered' : delayMs === null ? 'failed' : 'retrying';
          return { delivery, outcome, next: { status, steps: 1, delayMs, suspend: null } as const, startedAtMs: 0 };
        });
        await store.db.transaction((queries) => recordAttempts(queries, store.db.dialect, made));
      },
      redeliver: () => redeliver(store.db, entityId, known[random.below(known.length)] ?? 'dlv_none'),
      wait: () => letPass(store.db, entityId, 60_000),
      prune: async () => (random.below(8) === 0 ? pruneAll() : undefined),
    };
    const names = Object.keys(steps);
    for (let step = 0; step < 150; step++) await steps[names[random.below(names.length)] ?? '']?.();
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
    expect(await stored(entityId)).toBeGreaterThan(0);
  });
});
