import { afterEach, describe, expect, test } from 'bun:test';
import pino from 'pino';
import { destinationKey } from '../../src/domain/post-url.ts';
import { type SqlValue, StoreUnavailableError } from '../../src/store/database/database.ts';
import { entityKey } from '../../src/store/database/sql.ts';
import { claimDeliveries } from '../../src/store/deliveries/claim/claim.ts';
import { deleteWebhook, moveWebhook } from '../../src/store/webhooks/change.ts';
import { resumeWebhook, suspendWebhook } from '../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../support/api.ts';
import {
  accept,
  acceptMany,
  addReceiver,
  claim,
  createEngine,
  databaseNowMs,
  failedWith,
  forgetDeliveries,
  HOOK,
  LEASE_MS,
  letPass,
  newEvent,
  newReceiver,
  openWindow,
  readAttempts,
  readDeliveries,
  respondedWith,
  ScriptedSender,
  statuses,
  withEngine,
} from '../support/deliveries.ts';
import { onlyOn } from '../support/only-on.ts';
import { alteredStore, alteredTransactions, onSuiteEngine, type TestStore } from '../support/stores.ts';
import { until } from '../support/until.ts';

const THREE_AT_ONCE = { RETRY_SCHEDULE: '0s,0s,0s' };
const SLOW_RETRIES = { RETRY_SCHEDULE: '0s,1h,2h' };

/** An answer that is given when the test says so. */
function gate() {
  const opened = Promise.withResolvers<void>();
  return { open: () => opened.resolve(), passed: opened.promise };
}

const allAre = (store: TestStore, entityId: string, status: string) => async () => {
  const all = await statuses(store.db, entityId);
  return all.length > 0 && all.every((one) => one === status);
};

onSuiteEngine('the engine', (store) => {
  afterEach(() => forgetDeliveries(store.db));

  test('delivers every event to every webhook that asked for it, once', async () => {
    const { entityId } = await newReceiver(store.db);
    const second = 'https://second.example.com/';
    await addReceiver(store.db, entityId, second);
    const sender = new ScriptedSender();
    await withEngine(store.db, sender, async (engine) => {
      const events = await acceptMany(store.db, entityId, 60);
      engine.wake();
      await until('all are delivered', allAre(store, entityId, 'delivered'));
      for (const url of [HOOK, second]) {
        const there = sender.requests.filter(({ postUrl }) => postUrl === url);
        const ids = there.map(({ headers }) => headers['paybell-event-id']).sort();
        expect(ids).toEqual(events.map(({ eventId }) => eventId ?? '').sort());
      }
    });
    expect(sender.requests).toHaveLength(120);
  });

  test('finds by its own poll what nobody told it of', async () => {
    const { entityId } = await newReceiver(store.db);
    const sender = new ScriptedSender();
    await withEngine(store.db, sender, async () => {
      await Bun.sleep(50);
      await acceptMany(store.db, entityId, 1);
      await until('it is delivered', allAre(store, entityId, 'delivered'));
    });
    expect(sender.requests).toHaveLength(1);
  });

  test('tries again with the same id and bytes until it is received, and logs each attempt', async () => {
    const { entityId } = await newReceiver(store.db);
    const [event] = await acceptMany(store.db, entityId, 1);
    const answers = [
      respondedWith(500, { body: 'not yet' }),
      failedWith('timeout'),
      respondedWith(200, { body: 'thanks' }),
    ];
    const sender = new ScriptedSender(() => answers.shift() ?? respondedWith(500));
    await withEngine(store.db, sender, () => until('it is delivered', allAre(store, entityId, 'delivered')), {
      settings: THREE_AT_ONCE,
    });
    const [delivery] = await readDeliveries(store.db, entityId);
    expect(sender.requests.map(({ headers, body }) => [headers['webhook-id'], body])).toEqual(
      Array(3).fill([delivery?.deliveryId, event?.body]),
    );
    expect(await readAttempts(store.db, entityId)).toMatchObject([
      { attempt: 1, kind: 'first', statusCode: 500, error: null, response: 'not yet' },
      { attempt: 2, kind: 'retry', statusCode: null, error: 'timeout', response: null },
      { attempt: 3, kind: 'retry', statusCode: 200, error: null, response: 'thanks' },
    ]);
    expect(delivery).toMatchObject({ attempts: 3, lastStatusCode: 200, lastError: null, dueMs: null });
  });

  test('gives up when the schedule has ended', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 2);
    const sender = new ScriptedSender(() => respondedWith(500));
    await withEngine(store.db, sender, () => until('both have failed', allAre(store, entityId, 'failed')), {
      settings: THREE_AT_ONCE,
    });
    expect(sender.requests).toHaveLength(6);
  });

  test.each([
    ['the next step', respondedWith(500), 3_600_000],
    ['what retry-after asks for, when that is longer', respondedWith(503, { retryAfter: '7200' }), 7_200_000],
    ['the next step, when retry-after is shorter', respondedWith(503, { retryAfter: '5' }), 3_600_000],
    ['a day at most', respondedWith(429, { retryAfter: '99999999' }), 86_400_000],
  ])('waits for %s before it tries again', async (_what, outcome, delayMs) => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    const beforeMs = await databaseNowMs(store.db);
    await withEngine(
      store.db,
      new ScriptedSender(() => outcome),
      () => until('it waits', allAre(store, entityId, 'retrying')),
      {
        settings: SLOW_RETRIES,
      },
    );
    const afterMs = await databaseNowMs(store.db);
    const [delivery] = await readDeliveries(store.db, entityId);
    expect(delivery?.nextAttemptMs).toBeWithin(beforeMs + delayMs, afterMs + delayMs + 1);
  });

  test('never has more in flight than the caps, at one destination and in all', async () => {
    const { entityId } = await newReceiver(store.db, 'https://0.example.com/');
    for (let host = 1; host < 6; host++) await addReceiver(store.db, entityId, `https://${host}.example.com/`);
    await acceptMany(store.db, entityId, 20);
    const sender = new ScriptedSender(async () => {
      await Bun.sleep(3);
      return respondedWith(200);
    });
    await withEngine(store.db, sender, () => until('all are delivered', allAre(store, entityId, 'delivered')), {
      settings: { DELIVERY_CONCURRENCY: '10', DESTINATION_CONCURRENCY: '4' },
    });
    expect(sender.requests).toHaveLength(120);
    expect(sender.mostInFlight).toBeLessThanOrEqual(10);
    expect(Math.max(...sender.mostPerUrl.values())).toBeLessThanOrEqual(4);
    expect(Math.max(...sender.mostPerUrl.values())).toBeGreaterThan(1);
  });

  test.each([
    ['has never responded', 1],
    ['responded before', 16],
  ])('does not let a destination that %s hang at the cost of others: %d in flight', async (_before, inFlight) => {
    const hanging = await newReceiver(store.db, 'https://hanging.example.com/');
    const healthy = await newReceiver(store.db);
    const held = gate();
    const sender = new ScriptedSender(async ({ postUrl }) => {
      if (postUrl !== HOOK) await held.passed;
      return respondedWith(200);
    });
    await withEngine(
      store.db,
      sender,
      async (engine) => {
        if (inFlight > 1) await openWindow(store.db, engine, sender, hanging.entityId);
        await acceptMany(store.db, hanging.entityId, 200);
        engine.wake();
        await until('it hangs', () => sender.inFlightAt('https://hanging.example.com/') === inFlight);
        for (let round = 0; round < 3; round++) {
          await acceptMany(store.db, healthy.entityId, 10);
          engine.wake();
          await until('the others are delivered', allAre(store, healthy.entityId, 'delivered'));
        }
        expect(sender.mostPerUrl.get('https://hanging.example.com/')).toBe(inFlight);
        held.open();
        await until('it is done too', allAre(store, hanging.entityId, 'delivered'));
      },
      { settings: { DELIVERY_CONCURRENCY: '20' } },
    );
  });

  test('delivers to others at once while all destinations of an entity hang, also to a destination never seen', async () => {
    const crowd = await newReceiver(store.db, 'https://0.hanging.example/');
    for (let host = 1; host < 60; host++)
      await addReceiver(store.db, crowd.entityId, `https://${host}.hanging.example/`);
    const healthy = await newReceiver(store.db);
    const newcomer = await newReceiver(store.db, 'https://newcomer.example/');
    const held = gate();
    const sender = new ScriptedSender(async ({ postUrl }) => {
      if (postUrl.endsWith('.hanging.example/')) await held.passed;
      return respondedWith(200);
    });
    await withEngine(
      store.db,
      sender,
      async (engine) => {
        await acceptMany(store.db, crowd.entityId, 5);
        engine.wake();
        // Of 64 slots an entity gets half of the 48 for destinations that have not responded yet.
        await until('the crowd hangs', () => sender.requests.length === 24);
        for (const { entityId } of [healthy, newcomer]) {
          await acceptMany(store.db, entityId, 20);
          engine.wake();
          await until('the others are delivered', allAre(store, entityId, 'delivered'));
        }
        expect(sender.requests).toHaveLength(64);
        held.open();
        await until('the crowd is served too', allAre(store, crowd.entityId, 'delivered'));
      },
      { settings: { DELIVERY_CONCURRENCY: '64' } },
    );
  });

  test('serves every destination at once although each could take all slots', async () => {
    const { entityId } = await newReceiver(store.db, 'https://0.example.com/');
    for (let host = 1; host < 40; host++) await addReceiver(store.db, entityId, `https://${host}.example.com/`);
    await acceptMany(store.db, entityId, 1);
    const held = gate();
    const sender = new ScriptedSender(async () => {
      await held.passed;
      return respondedWith(200);
    });
    await withEngine(
      store.db,
      sender,
      async () => {
        await until('all forty are in flight though none has ended', () => sender.requests.length === 40);
        held.open();
      },
      { settings: { DELIVERY_CONCURRENCY: '128', DESTINATION_CONCURRENCY: '16' } },
    );
    expect(sender.mostInFlight).toBe(40);
  });

  test('probes a destination one at a time after five failures in a row, until a success', async () => {
    const { entityId } = await newReceiver(store.db);
    const sender = new ScriptedSender(() => failedWith('refused'));
    await withEngine(
      store.db,
      sender,
      async (engine) => {
        await acceptMany(store.db, entityId, 5);
        engine.wake();
        await until('five have failed', allAre(store, entityId, 'retrying'));
        sender.mostPerUrl.clear();
        const held = gate();
        sender.respond = async () => {
          await held.passed;
          return failedWith('timeout');
        };
        await acceptMany(store.db, entityId, 30);
        engine.wake();
        await until('it is probed', () => sender.inFlightAt(HOOK) === 1);
        await Bun.sleep(50);
        expect(sender.inFlightAt(HOOK)).toBe(1);
        const waiting = (await readDeliveries(store.db, entityId)).filter(({ status }) => status === 'pending');
        expect(waiting.map(({ attempts, steps }) => attempts + steps)).toEqual(Array(30).fill(0));
        sender.respond = async () => {
          await Bun.sleep(5);
          return respondedWith(200);
        };
        held.open();
        await until('the rest is delivered', async () => {
          const all = await statuses(store.db, entityId);
          return all.filter((status) => status === 'delivered').length === 29;
        });
        expect(sender.mostPerUrl.get(HOOK)).toBeGreaterThan(1);
      },
      { settings: SLOW_RETRIES },
    );
  });

  test('on 410 suspends the webhook and holds what waits, and a resume sends it', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 3);
    const sender = new ScriptedSender(() => respondedWith(410));
    const settings = { ...SLOW_RETRIES, DESTINATION_CONCURRENCY: '1' };
    await withEngine(
      store.db,
      sender,
      async (engine) => {
        await until('all are held', allAre(store, entityId, 'held'));
        await acceptMany(store.db, entityId, 2);
        engine.wake();
        expect(await statuses(store.db, entityId)).toEqual(Array(5).fill('held'));
        sender.respond = () => respondedWith(200);
        await resumeWebhook(store.db, entityId, webhookId, TEST_CHANGE);
        engine.wake();
        await until('all are delivered', allAre(store, entityId, 'delivered'));
      },
      { settings },
    );
  });

  test('sends nothing for a webhook that is deleted or suspended', async () => {
    const gone = await newReceiver(store.db);
    const suspended = await newReceiver(store.db);
    await acceptMany(store.db, gone.entityId, 1);
    await acceptMany(store.db, suspended.entityId, 1);
    await deleteWebhook(store.db, gone.entityId, gone.webhookId, () => true, TEST_CHANGE);
    await suspendWebhook(store.db, suspended.entityId, suspended.webhookId, 'gone', TEST_CHANGE);
    const active = await newReceiver(store.db);
    await acceptMany(store.db, active.entityId, 1);
    const sender = new ScriptedSender();
    await withEngine(store.db, sender, () => until('the last is sent', allAre(store, active.entityId, 'delivered')));
    expect(await statuses(store.db, gone.entityId)).toEqual(['cancelled']);
    expect(await statuses(store.db, suspended.entityId)).toEqual(['held']);
    expect(sender.requests).toHaveLength(1);
  });

  test('sends nothing more for a webhook that is deleted while its posts wait and fly', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    const held = gate();
    const sender = new ScriptedSender(async () => {
      await held.passed;
      return respondedWith(500);
    });
    await withEngine(
      store.db,
      sender,
      async (engine) => {
        await openWindow(store.db, engine, sender, entityId);
        await acceptMany(store.db, entityId, 10);
        engine.wake();
        await until('two are in flight', () => sender.requests.length === 2);
        await deleteWebhook(store.db, entityId, webhookId, () => true, TEST_CHANGE);
        held.open();
      },
      { settings: { ...THREE_AT_ONCE, DESTINATION_CONCURRENCY: '2' } },
    );
    expect(sender.requests).toHaveLength(2);
    expect(await statuses(store.db, entityId)).toEqual(Array(10).fill('cancelled'));
    expect(await readAttempts(store.db, entityId)).toHaveLength(2);
  });

  test('sends what waits to the new URL of a webhook that has moved, and logs the URL that each attempt used', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    const newHome = 'https://new-home.example.com/hook';
    await acceptMany(store.db, entityId, 3);
    const held = gate();
    const sender = new ScriptedSender(async ({ postUrl }) => {
      if (postUrl !== HOOK) return respondedWith(200);
      await held.passed;
      return respondedWith(500);
    });
    await withEngine(
      store.db,
      sender,
      async (engine) => {
        await until('one is in flight', () => sender.requests.length === 1);
        await moveWebhook(store.db, entityId, webhookId, newHome, () => true, TEST_CHANGE);
        held.open();
        engine.wake();
        await until('all are delivered', allAre(store, entityId, 'delivered'));
      },
      { settings: { ...THREE_AT_ONCE, DESTINATION_CONCURRENCY: '1' } },
    );
    expect(sender.requests.map(({ postUrl }) => postUrl)).toEqual([HOOK, newHome, newHome, newHome]);
    const urls = (await readAttempts(store.db, entityId)).map(({ postUrl }) => postUrl);
    expect(urls.sort()).toEqual([HOOK, newHome, newHome, newHome]);
  });

  test('does not send again what it holds itself, though its lease has run out, and settles it', async () => {
    const { entityId } = await newReceiver(store.db);
    const held = gate();
    const sender = new ScriptedSender(async () => {
      await held.passed;
      return respondedWith(200);
    });
    await withEngine(store.db, sender, async (engine) => {
      // With a window of one nothing would be claimed for the destination while its only attempt is in flight.
      await openWindow(store.db, engine, sender, entityId);
      await acceptMany(store.db, entityId, 1);
      engine.wake();
      await until('it is in flight', () => sender.requests.length === 1);
      await letPass(store.db, entityId, LEASE_MS * 2);
      engine.wake();
      await until('it is claimed again', async () => (await readDeliveries(store.db, entityId))[0]?.token === 2);
      held.open();
      await until('it is delivered', allAre(store, entityId, 'delivered'));
    });
    expect(sender.requests).toHaveLength(1);
    expect(await readAttempts(store.db, entityId)).toHaveLength(1);
  });

  test('counts a failure under a lease that it has renewed itself', async () => {
    const { entityId } = await newReceiver(store.db);
    const held = gate();
    const sender = new ScriptedSender(async () => {
      await held.passed;
      return respondedWith(500);
    });
    await withEngine(
      store.db,
      sender,
      async (engine) => {
        // With a window of one nothing would be claimed for the destination while its only attempt is in flight.
        await openWindow(store.db, engine, sender, entityId);
        await acceptMany(store.db, entityId, 1);
        engine.wake();
        await until('it is in flight', () => sender.requests.length === 1);
        await letPass(store.db, entityId, LEASE_MS * 2);
        engine.wake();
        await until('it is claimed again', async () => (await readDeliveries(store.db, entityId))[0]?.token === 2);
        held.open();
        await until('it is to be retried', allAre(store, entityId, 'retrying'));
      },
      { settings: SLOW_RETRIES },
    );
    expect(sender.requests).toHaveLength(1);
    expect(await readAttempts(store.db, entityId)).toMatchObject([{ attempt: 1, statusCode: 500 }]);
  });

  test('records what it holds also when the claim that would have renewed its lease is rolled back', async () => {
    const { entityId } = await newReceiver(store.db);
    const held = gate();
    const sender = new ScriptedSender(async () => {
      await held.passed;
      return respondedWith(200);
    });
    let rollBacks = 0;
    const db = alteredStore(store.db, {
      transaction: (work, options) =>
        store.db.transaction(async (queries) => {
          const value = await work(queries);
          if (rollBacks-- > 0) throw new StoreUnavailableError('at the commit');
          return value;
        }, options),
    });
    await withEngine(db, sender, async (engine) => {
      // With a window of one nothing would be claimed for the destination while its only attempt is in flight.
      await openWindow(store.db, engine, sender, entityId);
      await acceptMany(store.db, entityId, 1);
      engine.wake();
      await until('it is in flight', () => sender.requests.length === 1);
      await letPass(store.db, entityId, LEASE_MS * 2);
      rollBacks = 1;
      engine.wake();
      await until('the claim is rolled back', () => rollBacks <= 0);
      held.open();
      await until('it is delivered', allAre(store, entityId, 'delivered'));
    });
    expect(sender.requests).toHaveLength(1);
  });

  test('takes back its word when another has taken the delivery over', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    const held = gate();
    const sender = new ScriptedSender(async () => {
      await held.passed;
      return respondedWith(500);
    });
    const lines: { msg: string }[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line)) });
    await withEngine(
      store.db,
      sender,
      async () => {
        await until('it is in flight', () => sender.requests.length === 1);
        await store.db.transaction((queries) =>
          queries.run('update queue set token = token + 1 where entity_id = $1', [
            entityKey(store.db.dialect, entityId),
          ]),
        );
        held.open();
        await until('the refusal is logged', () => lines.length > 0);
      },
      { log },
    );
    expect(lines).toMatchObject([{ msg: expect.stringContaining('another instance has claimed') }]);
    expect(await readDeliveries(store.db, entityId)).toMatchObject([{ status: 'pending', attempts: 0 }]);
    expect(await readAttempts(store.db, entityId)).toEqual([]);
  });

  test('takes up what a dead process had claimed', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 3);
    // Longer than the test waits.
    const leaseMs = 3_600_000;
    const picks = [{ destination: destinationKey(entityId, HOOK), most: 9 }];
    expect((await claimDeliveries(store.db, picks, leaseMs)).claimed).toHaveLength(3);
    // On PostgreSQL others may be alive, so there the lease has to run out.
    if (store.engine === 'postgres') await letPass(store.db, entityId, leaseMs);
    const sender = new ScriptedSender();
    await withEngine(store.db, sender, () => until('all are delivered', allAre(store, entityId, 'delivered')));
    expect(sender.requests).toHaveLength(3);
  });
});

onSuiteEngine('a delivery that cannot be processed', (store) => {
  afterEach(() => forgetDeliveries(store.db));

  test('because its event is gone ends as failed with its reason, and its neighbours go on', async () => {
    const { entityId } = await newReceiver(store.db);
    const [poison, ...neighbours] = await acceptMany(store.db, entityId, 5);
    const others = neighbours.map(({ eventId }) => eventId ?? '');
    await store.db.transaction((queries) =>
      queries.run('delete from events where event_id = $1', [poison?.eventId ?? '']),
    );
    const sender = new ScriptedSender();
    await withEngine(store.db, sender, () =>
      until('all are settled', async () => !(await statuses(store.db, entityId)).includes('pending')),
    );
    for (const delivery of await readDeliveries(store.db, entityId)) {
      // With the event its id is gone too: the delivery shows its number in place of it.
      const isPoison = !others.includes(delivery.eventId);
      expect(delivery).toMatchObject(
        isPoison ? { status: 'failed', lastError: 'unprocessable' } : { status: 'delivered', lastError: null },
      );
    }
    expect(sender.requests).toHaveLength(4);
  });

  test('because its URL is none ends as any other that fails, and its neighbours go on', async () => {
    const poison = await newReceiver(store.db);
    await store.db.transaction((queries) =>
      queries.run(`update webhooks set post_url = 'not a url' where id = $1`, [poison.webhookId]),
    );
    const well = await newReceiver(store.db);
    await acceptMany(store.db, poison.entityId, 2);
    await acceptMany(store.db, well.entityId, 2);
    const sender = new ScriptedSender(({ postUrl }) =>
      postUrl === HOOK ? respondedWith(200) : failedWith('invalid_url'),
    );
    await withEngine(
      store.db,
      sender,
      async () => {
        await until('the neighbours are delivered', allAre(store, well.entityId, 'delivered'));
        await until('it has failed', allAre(store, poison.entityId, 'failed'));
      },
      { settings: THREE_AT_ONCE },
    );
    // Two events to the neighbour, and three attempts at each of two to no URL.
    expect(sender.requests).toHaveLength(8);
  });

  test('because the store refuses its settlement ends as failed with its reason, and its neighbours go on', async () => {
    const { entityId } = await newReceiver(store.db);
    const events = await acceptMany(store.db, entityId, 6);
    const refused = new Set([events[1]?.eventId, events[4]?.eventId]);
    const sender = new ScriptedSender(({ headers }) =>
      refused.has(headers['paybell-event-id']) ? respondedWith(500, { body: 'NUL \0 inside' }) : respondedWith(200),
    );
    await withEngine(
      nulRefusing(store),
      sender,
      () => until('all are settled', async () => !(await statuses(store.db, entityId)).includes('pending')),
      { settings: SLOW_RETRIES },
    );
    for (const { eventId, status, lastError } of await readDeliveries(store.db, entityId)) {
      const isRefused = refused.has(eventId);
      expect(status).toBe(isRefused ? 'failed' : 'delivered');
      expect(lastError).toBe(isRefused ? 'unprocessable' : null);
    }
    expect(await readAttempts(store.db, entityId)).toHaveLength(6);
  });

  test('because the store refuses the answer is still delivered when the receiver has it', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 2);
    const sender = new ScriptedSender(() => respondedWith(200, { body: 'NUL \0 inside' }));
    await withEngine(nulRefusing(store), sender, () =>
      until('both are delivered', allAre(store, entityId, 'delivered')),
    );
    expect(await readAttempts(store.db, entityId)).toMatchObject(Array(2).fill({ statusCode: 200, response: '' }));
  });
});

function withoutNul(params: readonly SqlValue[] = []): readonly SqlValue[] {
  if (params.some((value) => typeof value === 'string' && value.includes('\0'))) throw new Error('NUL');
  return params;
}

/** PostgreSQL refuses a NUL by itself; SQLite is made to. */
function nulRefusing(store: TestStore) {
  return alteredTransactions(store.db, (queries) => ({
    all: (sql, params) => queries.all(sql, withoutNul(params)),
    run: (sql, params) => queries.run(sql, withoutNul(params)),
  }));
}

/** A store that fails in every statement that claims, for as long as it is told to. */
function failingClaims(store: TestStore, failing: { readonly claims: boolean }) {
  const check = (sql: string) => {
    if (failing.claims && sql.includes('token = token + 1')) throw new StoreUnavailableError('down');
    return sql;
  };
  return alteredTransactions(store.db, (queries) => ({
    all: (sql, params) => queries.all(check(sql), params),
    run: (sql, params) => queries.run(check(sql), params),
  }));
}

onSuiteEngine('while the store is unavailable', (store) => {
  afterEach(() => forgetDeliveries(store.db));

  test('the engine pauses, loses no outcome, and goes on by itself', async () => {
    const { entityId } = await newReceiver(store.db);
    let down = false;
    const flaky = alteredStore(store.db, {
      transaction: (work, options) =>
        down ? Promise.reject(new StoreUnavailableError('down')) : store.db.transaction(work, options),
    });
    const held = gate();
    const sender = new ScriptedSender(async () => {
      await held.passed;
      return respondedWith(200);
    });
    await withEngine(flaky, sender, async (engine) => {
      await openWindow(store.db, engine, sender, entityId);
      await acceptMany(store.db, entityId, 5);
      engine.wake();
      await until('all are in flight', () => sender.requests.length === 5);
      down = true;
      held.open();
      await Bun.sleep(100);
      expect(await statuses(store.db, entityId)).toEqual(Array(5).fill('pending'));
      down = false;
      await until('all are delivered', allAre(store, entityId, 'delivered'));
    });
    expect(sender.requests).toHaveLength(5);
  });

  test('an outcome is recorded again when its commit has failed', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 3);
    let rollBacks = 2;
    const flaky = alteredStore(store.db, {
      transaction: (work, options) =>
        store.db.transaction(async (queries) => {
          const value = await work(queries);
          // Only the transactions that record attempts may wait for another commit.
          if (options?.maxCommitDelayMs !== undefined && rollBacks-- > 0)
            throw new StoreUnavailableError('at the commit');
          return value;
        }, options),
    });
    const sender = new ScriptedSender();
    await withEngine(flaky, sender, () => until('all are delivered', allAre(store, entityId, 'delivered')));
    expect(sender.requests).toHaveLength(3);
    expect(rollBacks).toBeLessThan(1);
  });

  test('outcomes are recorded although every claim fails', async () => {
    const { entityId } = await newReceiver(store.db);
    const other = await newReceiver(store.db, 'https://other.example.com/');
    const failing = { claims: false };
    const held = gate();
    const sender = new ScriptedSender(async () => {
      await held.passed;
      return respondedWith(200);
    });
    await withEngine(failingClaims(store, failing), sender, async (engine) => {
      await acceptMany(store.db, entityId, 1);
      engine.wake();
      await until('it is in flight', () => sender.requests.length === 1);
      failing.claims = true;
      await acceptMany(store.db, other.entityId, 1);
      engine.wake();
      held.open();
      await until('it is recorded', allAre(store, entityId, 'delivered'));
      expect(await statuses(store.db, other.entityId)).toEqual(['pending']);
      failing.claims = false;
      await until('the other is delivered', allAre(store, other.entityId, 'delivered'));
    });
  });

  test('no delivery ends because its secrets could not be read', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    let down = true;
    let asked = 0;
    const flaky = alteredStore(store.db, {
      snapshot: (work) => {
        asked++;
        return down ? Promise.reject(new StoreUnavailableError('down')) : store.db.snapshot(work);
      },
    });
    const sender = new ScriptedSender();
    await withEngine(flaky, sender, async (engine) => {
      await until('the secrets were asked for', () => asked > 0);
      await Bun.sleep(20);
      expect(await readDeliveries(store.db, entityId)).toMatchObject([{ status: 'pending', attempts: 0, steps: 0 }]);
      down = false;
      await letPass(store.db, entityId, LEASE_MS);
      engine.wake();
      await until('it is delivered', allAre(store, entityId, 'delivered'));
    });
    expect(await readAttempts(store.db, entityId)).toHaveLength(1);
  });
});

onSuiteEngine('a stop', (store) => {
  afterEach(() => forgetDeliveries(store.db));

  test('claims nothing more, and settles what is in flight before it ends', async () => {
    const { entityId } = await newReceiver(store.db);
    const held = gate();
    const sender = new ScriptedSender(async () => {
      await held.passed;
      return respondedWith(200);
    });
    const engine = createEngine(store.db, sender, { settings: { DESTINATION_CONCURRENCY: '3' } });
    await engine.start();
    await openWindow(store.db, engine, sender, entityId);
    await acceptMany(store.db, entityId, 10);
    engine.wake();
    await until('three are in flight', () => sender.requests.length === 3);
    const stopping = engine.stop();
    await Bun.sleep(30);
    held.open();
    await stopping;
    expect(sender.requests).toHaveLength(3);
    expect((await statuses(store.db, entityId)).sort()).toEqual([
      ...Array(3).fill('delivered'),
      ...Array(7).fill('pending'),
    ]);
    expect(await claim(store.db, entityId)).toHaveLength(7);
  });

  test('ends at once when nothing is in flight', async () => {
    const engine = createEngine(store.db, new ScriptedSender());
    await engine.start();
    // Waits for as long as something is in flight.
    await engine.stop();
    expect(engine.inFlight).toBe(0);
  });
});

describe('two engines', () => {
  onSuiteEngine('on one store', (store) => {
    const onPostgres = onlyOn('postgres', store);

    onPostgres('share the work, and no delivery is with both at the same time', async () => {
      const { entityId } = await newReceiver(store.db);
      for (let host = 0; host < 5; host++) await addReceiver(store.db, entityId, `https://${host}.example.com/`);
      const flying = new Set<string>();
      let twice = 0;
      const answer = async ({ headers }: { headers: Record<string, string> }) => {
        const id = headers['webhook-id'] ?? '';
        if (flying.has(id)) twice++;
        flying.add(id);
        await Bun.sleep(2);
        flying.delete(id);
        return respondedWith(200);
      };
      const senders = [new ScriptedSender(answer), new ScriptedSender(answer)];
      const settings = { DESTINATION_CONCURRENCY: '4' };
      const engines = senders.map((sender) => createEngine(store.db, sender, { settings }));
      for (const engine of engines) await engine.start();
      for (let round = 0; round < 5; round++) await acceptMany(store.db, entityId, 20);
      for (const engine of engines) engine.wake();
      await until('all are delivered', allAre(store, entityId, 'delivered'));
      for (const engine of engines) await engine.stop();
      expect(twice).toBe(0);
      expect(senders.map(({ requests }) => requests.length).reduce((sum, count) => sum + count)).toBe(600);
      for (const { requests } of senders) expect(requests.length).toBeGreaterThan(0);
    });

    onPostgres('wake each other through the database', async () => {
      const { entityId } = await newReceiver(store.db);
      let rung = 0;
      await store.db.onWork(() => rung++);
      await accept(store.db, newEvent(entityId));
      await store.db.announceWork();
      // Throws if the database passes nothing on.
      await until('the announcement has come', () => rung > 0);
    });
  });
});
