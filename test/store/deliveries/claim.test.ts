import { expect, test } from 'bun:test';
import { destinationKey } from '../../../src/domain/post-url.ts';
import type { Database, SqlInteger, SqlUuid } from '../../../src/store/database/database.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import { claimDeliveries } from '../../../src/store/deliveries/claim/claim.ts';
import type { Claimed } from '../../../src/store/deliveries/claim/claimed.ts';
import { FIRST_HEAD, findDueHeads } from '../../../src/store/deliveries/claim/due-heads.ts';
import { releaseAllLeases, returnClaims } from '../../../src/store/deliveries/claim/leases.ts';
import { recordAttempts } from '../../../src/store/deliveries/record/record-attempts.ts';
import { acceptEvents } from '../../../src/store/events/accept.ts';
import { deleteWebhook } from '../../../src/store/webhooks/change.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import {
  accept,
  acceptMany,
  addReceiver,
  claim,
  databaseNowMs,
  forgetDeliveries,
  HOOK,
  LEASE_MS,
  letPass,
  newEvent,
  newReceiver,
  readDeliveries,
  respondedWith,
} from '../../support/deliveries.ts';
import { configure } from '../../support/endpoints.ts';
import { onlyOn } from '../../support/only-on.ts';
import { alteredTransactions, onEveryEngine } from '../../support/stores.ts';
import { newEntity } from '../../support/webhooks.ts';

onEveryEngine('looking for what is due', (store) => {
  const onPostgres = onlyOn('postgres', store);
  async function withDestinations(hosts: readonly string[]): Promise<string> {
    await forgetDeliveries(store.db);
    const entityId = await newEntity(store.db);
    for (const host of hosts) await addReceiver(store.db, entityId, `https://${host}/`);
    return entityId;
  }

  const look = async (most = 100, after = FIRST_HEAD) => {
    const { due, nextInMs } = await findDueHeads(store.db, after, most);
    return { names: due.map(({ destination }) => destination), last: due.at(-1)?.cursor ?? after, nextInMs };
  };

  /** Calls back once a claim has read the queue, before it notes what it saw. */
  const afterLook = (onRead: () => unknown): Database =>
    alteredTransactions(store.db, (queries) => ({
      all: async (sql, params) => {
        const rows = await queries.all(sql, params);
        if (sql.startsWith('with wanted (entity_id, webhook_no')) await onRead();
        return rows as never;
      },
    }));

  test('finds each webhook with something due, and says when the next one has', async () => {
    const entityId = await withDestinations(['a.example', 'b.example']);
    expect(await look()).toMatchObject({ names: [], nextInMs: null });
    await acceptMany(store.db, entityId, 3);
    const expected = ['a.example', 'b.example'].map((host) => destinationKey(entityId, `https://${host}/`));
    expect((await look()).names.sort()).toEqual(expected);
    for (const destination of expected) await claimDeliveries(store.db, [{ destination, most: 9 }], LEASE_MS);
    const { names, nextInMs } = await look();
    expect(names).toEqual([]);
    expect(nextInMs).toBeWithin(1, LEASE_MS + 1);
  });

  test('goes on after the cursor and reads no more than it is asked to', async () => {
    const entityId = await withDestinations(['a.example', 'b.example', 'c.example', 'd.example', 'e.example']);
    await acceptMany(store.db, entityId, 2);
    const first = await look(2);
    const second = await look(2, first.last);
    const third = await look(2, second.last);
    expect([first.names.length, second.names.length, third.names.length]).toEqual([2, 2, 1]);
    expect(new Set([...first.names, ...second.names, ...third.names]).size).toBe(5);
  });

  test('leaves a webhook that has nothing waiting alone for longer each time, and never for more than an hour', async () => {
    const entityId = await withDestinations(['a.example']);
    await acceptMany(store.db, entityId, 1);
    const destination = destinationKey(entityId, 'https://a.example/');
    const [claimed] = (await claimDeliveries(store.db, [{ destination, most: 1 }], LEASE_MS)).claimed;
    if (claimed === undefined) throw new Error('nothing was claimed');
    const next = { status: 'delivered', steps: 1, delayMs: null, suspend: null } as const;
    await store.db.transaction((queries) =>
      recordAttempts(queries, store.db.dialect, [
        { delivery: claimed, next, outcome: respondedWith(200), startedAtMs: 0 },
      ]),
    );
    for (const waitS of [5, 30, 300, 3600, 3600, 3600]) {
      await letPass(store.db, entityId, 3_600_000);
      expect((await look()).names).toEqual([destination]);
      const claimsAtMs = await databaseNowMs(store.db);
      await claimDeliveries(store.db, [{ destination, most: 1 }], LEASE_MS);
      const { nextInMs } = await look();
      const passedMs = (await databaseNowMs(store.db)) - claimsAtMs;
      expect(nextInMs ?? 0).toBeWithin(Math.max(0, waitS * 1_000 - passedMs), waitS * 1_000 + 1);
    }
    await acceptMany(store.db, entityId, 1);
    expect((await look()).names).toEqual([destination]);
  });

  onPostgres('finds what is committed while a look that cannot see it puts the webhook off', async () => {
    const entityId = await withDestinations(['a.example']);
    const destination = destinationKey(entityId, 'https://a.example/');
    const claimAll = (leaseMs: number, db: Database = store.db) =>
      claimDeliveries(db, [{ destination, most: 9 }], leaseMs);
    await acceptMany(store.db, entityId, 1);
    const [first] = (await claimAll(1)).claimed;
    if (first === undefined) throw new Error('nothing was claimed');
    await letPass(store.db, entityId, 1);
    // In an object, because the transaction would wait for a promise that it returns.
    const { looking } = await store.db.transaction(async (queries) => {
      await acceptEvents(queries, store.db.dialect, [newEvent(entityId)]);
      // It claims the first again and wants to put the webhook off to the end of that lease.
      const { promise: read, resolve } = Promise.withResolvers<void>();
      const started = claimAll(LEASE_MS, afterLook(resolve));
      await read;
      return { looking: started };
    });
    await looking;
    expect((await look()).names).toEqual([destination]);
    expect((await claimAll(LEASE_MS)).claimed).toHaveLength(1);
  });

  // SQLite has one writer, which makes the two wait for each other.
  onPostgres('finds what is committed between a look and the note of what it saw', async () => {
    const entityId = await withDestinations(['a.example']);
    const destination = destinationKey(entityId, 'https://a.example/');
    await acceptMany(store.db, entityId, 1);
    const looking = afterLook(() => acceptMany(store.db, entityId, 1));
    expect((await claimDeliveries(looking, [{ destination, most: 9 }], LEASE_MS)).claimed).toHaveLength(1);
    expect((await look()).names).toEqual([destination]);
    expect((await claimDeliveries(store.db, [{ destination, most: 9 }], LEASE_MS)).claimed).toHaveLength(1);
  });

  test('finds a queue when the first of what was recorded together is due', async () => {
    const entityId = await withDestinations(['a.example']);
    await acceptMany(store.db, entityId, 2);
    const destination = destinationKey(entityId, 'https://a.example/');
    const { claimed } = await claimDeliveries(store.db, [{ destination, most: 9 }], LEASE_MS);
    const records = claimed.map((delivery, index) => {
      const next = { status: 'retrying', steps: 1, delayMs: [5_000, 3_600_000][index] ?? 0, suspend: null } as const;
      return { delivery, next, outcome: respondedWith(500), startedAtMs: 0 };
    });
    await store.db.transaction((queries) => recordAttempts(queries, store.db.dialect, records));
    expect((await look()).nextInMs).toBeWithin(1, 5_001);
  });

  test('finds a head that was woken again and again since the start', async () => {
    const entityId = await withDestinations(['a.example']);
    await acceptMany(store.db, entityId, 1);
    await releaseAllLeases(store.db);
    for (let round = 0; round < 3; round++) await acceptMany(store.db, entityId, 1);
    expect((await look()).names).toEqual([destinationKey(entityId, 'https://a.example/')]);
  });

  test('keeps the destinations of two entities apart, though they are one host', async () => {
    await forgetDeliveries(store.db);
    const [one, two] = [await newReceiver(store.db), await newReceiver(store.db)];
    await acceptMany(store.db, one.entityId, 1);
    await acceptMany(store.db, two.entityId, 1);
    expect((await look()).names).toHaveLength(2);
    expect(await claim(store.db, one.entityId)).toHaveLength(1);
    expect(await readDeliveries(store.db, two.entityId)).toMatchObject([{ token: 0 }]);
  });
});

onEveryEngine('claiming', (store) => {
  const onPostgres = onlyOn('postgres', store);

  test('brings all that an attempt needs', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    const [event] = await acceptMany(store.db, entityId, 1);
    const [delivery] = await readDeliveries(store.db, entityId);
    expect(await claim(store.db, entityId)).toEqual([
      expect.objectContaining({
        entityId,
        deliveryId: delivery?.deliveryId,
        token: 1,
        destination: destinationKey(entityId, HOOK),
        eventId: event?.eventId,
        webhookId,
        kind: 'first',
        status: 'pending',
        attempts: 0,
        steps: 0,
        postUrl: HOOK,
        failingSinceMs: null,
        body: event?.body,
        revision: expect.any(Number),
      }),
    ]);
  });

  test('takes the longest due first, no more than it is asked to, and nothing that is due later', async () => {
    const { entityId } = await newReceiver(store.db);
    const late = newEvent(entityId, { firstDelayMs: 3_600_000 });
    const second = newEvent(entityId, { firstDelayMs: -5_000 });
    const first = newEvent(entityId, { firstDelayMs: -10_000 });
    const third = newEvent(entityId);
    for (const event of [late, second, first, third]) await accept(store.db, event);
    const ids = (await claim(store.db, entityId, 2)).map(({ eventId }) => eventId);
    expect(new Set<string | null>(ids)).toEqual(new Set([first.eventId, second.eventId]));
    expect(await claim(store.db, entityId, 9)).toMatchObject([{ eventId: third.eventId }]);
    expect(await claim(store.db, entityId, 9)).toEqual([]);
  });

  test('gives a lease by the clock of the database, and while it lasts nobody else gets the delivery', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    const beforeMs = await databaseNowMs(store.db);
    await claim(store.db, entityId);
    const afterMs = await databaseNowMs(store.db);
    const [delivery] = await readDeliveries(store.db, entityId);
    expect(delivery?.leaseMs).toBeWithin(beforeMs + LEASE_MS, afterMs + LEASE_MS + 1);
    expect(await claim(store.db, entityId)).toEqual([]);
    await letPass(store.db, entityId, LEASE_MS - 5_000);
    expect(await claim(store.db, entityId)).toEqual([]);
  });

  test('takes over what has an expired lease, with a higher token', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    const tokens = [];
    for (let round = 0; round < 3; round++) {
      tokens.push(...(await claim(store.db, entityId)).map(({ token }) => token));
      await letPass(store.db, entityId, LEASE_MS);
    }
    expect(tokens).toEqual([1, 2, 3]);
  });

  test('many at once never gives one delivery to two', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 100);
    const claims = await Promise.all(Array.from({ length: 10 }, () => claim(store.db, entityId, 10)));
    const ids = claims.flat().map(({ deliveryId }) => deliveryId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const claimed of claims) expect(claimed.length).toBeLessThanOrEqual(10);
  });

  test('of many destinations is one transaction, and no destination gives more than it was asked for', async () => {
    const entityId = await newEntity(store.db);
    const hosts = ['one.example', 'two.example', 'three.example'];
    for (const host of hosts) {
      await addReceiver(store.db, entityId, `https://${host}/a`);
      await addReceiver(store.db, entityId, `https://${host}/b`);
    }
    await acceptMany(store.db, entityId, 5);
    const picks = hosts.map((host, index) => ({
      destination: destinationKey(entityId, `https://${host}/`),
      most: index + 2,
    }));
    const { claimed, mayHaveMore } = await claimDeliveries(store.db, picks, LEASE_MS);
    const counts = Map.groupBy(claimed, ({ destination }) => destination);
    expect(picks.map(({ destination }) => counts.get(destination)?.length)).toEqual([2, 3, 4]);
    expect(mayHaveMore).toEqual(picks.map(({ destination }) => destination));
    const rest = await claimDeliveries(
      store.db,
      picks.map((pick) => ({ ...pick, most: 100 })),
      LEASE_MS,
    );
    expect([rest.claimed.length, rest.mayHaveMore]).toEqual([30 - 9, []]);
  });

  onPostgres('passes over what another transaction is claiming at this moment, and waits for nothing', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 6);
    const second = await store.db.transaction(async (queries) => {
      const sql = 'select id from queue where entity_id = $1 order by id limit 4 for update';
      await queries.all(sql, [entityKey(store.db.dialect, entityId)]);
      return claim(store.db, entityId, 4);
    });
    expect(second).toHaveLength(2);
  });

  test('shows when the event is gone', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    await store.db.transaction((queries) =>
      queries.run('delete from events where entity_id = $1', [entityKey(store.db.dialect, entityId)]),
    );
    expect(await claim(store.db, entityId)).toMatchObject([{ body: null }]);
  });

  test('finds nothing once the webhook was deleted', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 3);
    await deleteWebhook(store.db, entityId, webhookId, () => true, TEST_CHANGE);
    expect(await claim(store.db, entityId)).toEqual([]);
  });
});

onEveryEngine('the mark from which claims look', (store) => {
  /** A backlog that became due over a minute, an hour ago. */
  async function newBacklog(): Promise<string> {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 60);
    const key = entityKey(store.db.dialect, entityId);
    const startMs = (await databaseNowMs(store.db)) - 3_600_000;
    const rows = await store.db.all<{ id: SqlUuid }>('select id from queue where entity_id = $1 order by id', [key]);
    for (const [index, { id }] of rows.entries()) {
      const sql = 'update queue set due_ms = $3, lease_ms = 0 where entity_id = $1 and id = $2';
      await store.db.transaction((queries) => queries.run(sql, [key, id, startMs + index * 1_000]));
    }
    return entityId;
  }

  async function readMark(entityId: string): Promise<number> {
    const sql = 'select look_from_ms from queue_heads where entity_id = $1';
    const row = await store.db.get<{ look_from_ms: SqlInteger }>(sql, [entityKey(store.db.dialect, entityId)]);
    return Number(row?.look_from_ms);
  }

  test('moves on while a long backlog is sent, but never past what is claimed', async () => {
    const entityId = await newBacklog();
    const record = async (claimed: readonly Claimed[]) => {
      const next = { status: 'delivered', steps: 1, delayMs: null, suspend: null } as const;
      const made = claimed.map((delivery) => ({ delivery, startedAtMs: 0, outcome: respondedWith(200), next }));
      await store.db.transaction((queries) => recordAttempts(queries, store.db.dialect, made));
    };
    const first = await claim(store.db, entityId, 10);
    const markMs = await readMark(entityId);
    const [, ...others] = first;
    await record(others);
    await claim(store.db, entityId, 10);
    // The first of them is still held: were it to fail, the next claim has to find it.
    expect(await readMark(entityId)).toBe(markMs);
    await record(first);
    await claim(store.db, entityId, 10);
    expect(await readMark(entityId)).toBe(markMs + 10_000);
  });
});

onEveryEngine('a hint', (store) => {
  const headOf = (entityId: string) => [entityKey(store.db.dialect, entityId)];
  const changeHead = (entityId: string, change: string) =>
    store.db.transaction((queries) =>
      queries.run(`update queue_heads set ${change} where entity_id = $1`, headOf(entityId)),
    );
  const nowMs = (ms: number) => `${store.db.dialect.nowMs} + ${ms}`;

  test('from before the clock was set back hides nothing: deliveries of a resumed endpoint are sent', async () => {
    const { entityId } = await newReceiver(store.db);
    await accept(store.db, newEvent(entityId));
    // A look left these marks an hour ahead of the clock of today, and the endpoint was paused.
    const hourMs = 3_600_000;
    await changeHead(entityId, `look_from_ms = ${nowMs(hourMs - 10_000)}, full_look_ms = ${nowMs(hourMs + 300_000)}`);
    await configure(store.db, entityId, HOOK, { paused: true });
    await accept(store.db, newEvent(entityId));
    await configure(store.db, entityId, HOOK, { paused: false });
    expect(await claim(store.db, entityId)).toHaveLength(2);
  });

  test('hides a row that was committed late for five minutes at most', async () => {
    const { entityId } = await newReceiver(store.db);
    await accept(store.db, newEvent(entityId));
    await store.db.transaction((queries) =>
      queries.run('update queue set due_ms = due_ms - 60000 where entity_id = $1', headOf(entityId)),
    );
    await changeHead(entityId, `look_from_ms = ${nowMs(-10_000)}, full_look_ms = ${nowMs(290_000)}`);
    expect(await claim(store.db, entityId)).toEqual([]);
    await changeHead(entityId, `full_look_ms = ${nowMs(-1)}`);
    expect(await claim(store.db, entityId)).toHaveLength(1);
  });
});

onEveryEngine('returning claims', (store) => {
  test('makes due again what is still ours, and only that', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 2);
    const [lost, ours] = await claim(store.db, entityId);
    if (lost === undefined || ours === undefined) throw new Error('nothing was claimed');
    const stale = { ...lost, token: lost.token - 1 };
    await store.db.transaction((queries) => returnClaims(queries, store.db.dialect, [stale, ours]));
    expect((await claim(store.db, entityId)).map(({ deliveryId, token }) => [deliveryId, token])).toEqual([
      [ours.deliveryId, 2],
    ]);
  });

  test('of all leases at the start lets everything that was claimed be claimed at once, and nothing before its time', async () => {
    await forgetDeliveries(store.db);
    const { entityId } = await newReceiver(store.db);
    await accept(store.db, newEvent(entityId), newEvent(entityId, { firstDelayMs: 3_600_000 }));
    expect(await claim(store.db, entityId)).toHaveLength(1);
    expect(await releaseAllLeases(store.db)).toBe(1);
    expect((await findDueHeads(store.db, FIRST_HEAD, 9)).due).toHaveLength(1);
    expect(await claim(store.db, entityId)).toHaveLength(1);
  });
});
