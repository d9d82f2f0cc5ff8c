import { expect, test } from 'bun:test';
import { SequenceWatch } from '../../../../src/api/routes/endpoints/sequence-watch.ts';
import { destinationKey } from '../../../../src/domain/post-url.ts';
import { createLogger } from '../../../../src/log.ts';
import type { Database } from '../../../../src/store/database/database.ts';
import { AcceptQueue } from '../../../../src/store/events/accept-queue.ts';
import { acceptMany, HOOK, newEvent, newReceiver } from '../../../support/deliveries.ts';
import { configure, endpointNoOf } from '../../../support/endpoints.ts';
import { alteredStore, onSuiteEngine } from '../../../support/stores.ts';
import { until } from '../../../support/until.ts';

const NEVER_MS = 3_600_000;
const { signal } = new AbortController();

onSuiteEngine('the wait for the next number of an endpoint', (store) => {
  /** One that never looks by itself, and an endpoint with one number. */
  async function setUp(db = store.db) {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    const endpoint = { entityId, endpointNo: await endpointNoOf(store.db, entityId, HOOK), postUrl: HOOK };
    return { endpoint, watch: new SequenceWatch(db, createLogger('silent'), NEVER_MS) };
  }

  test('is over at once for a number that is there: it may have been committed since the reader looked', async () => {
    const { endpoint, watch } = await setUp();
    await watch.wait(endpoint, 0, Number.POSITIVE_INFINITY, signal);
    expect(watch.isIdle).toBe(true);
  });

  test('is over for those whose number has come, and for no others', async () => {
    let looks = 0;
    const all: Database['all'] = async (sql, params) => {
      const rows = await store.db.all<never>(sql, params);
      looks++;
      return rows;
    };
    const { endpoint, watch } = await setUp(alteredStore(store.db, { all }));
    const over: number[] = [];
    const waits = [1, 2].map(async (after) => {
      await watch.wait(endpoint, after, Number.POSITIVE_INFINITY, signal);
      over.push(after);
    });
    await until('it has found nothing new', () => looks > 0);
    await acceptMany(store.db, endpoint.entityId, 1);
    watch.wake([destinationKey(endpoint.entityId, HOOK)]);
    await until('one is over', () => over.length > 0);
    expect(over).toEqual([1]);
    watch.close();
    await Promise.all(waits);
  });

  test('is over for an endpoint with a rate limit, also one that was set during the wait', async () => {
    const { endpoint, watch } = await setUp();
    const acceptQueue = new AcceptQueue(store.db, {
      onDue: () => undefined,
      onAccepted: (_, destinations) => watch.wake(destinations),
    });
    for (const [index, rateLimit] of [20, 30].entries()) {
      let isOver = false;
      void watch.wait(endpoint, index + 1, Number.POSITIVE_INFINITY, signal).then(() => {
        isOver = true;
      });
      await configure(store.db, endpoint.entityId, HOOK, { rateLimit });
      await acceptQueue.accept(newEvent(endpoint.entityId));
      // Throws if nothing has woken the wait.
      await until('it is over, though it never looks by itself', () => isOver);
    }
  });

  test('ends when the service stops, and none begins then', async () => {
    const { endpoint, watch } = await setUp();
    const waiting = watch.wait(endpoint, 1, Number.POSITIVE_INFINITY, signal);
    watch.close();
    await waiting;
    await watch.wait(endpoint, 1, Number.POSITIVE_INFINITY, signal);
    expect(watch.isIdle).toBe(true);
  });
});
