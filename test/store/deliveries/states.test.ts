import { expect, test } from 'bun:test';
import type { Database, Queries, SqlInteger } from '../../../src/store/database/database.ts';
import { entityKey, readInteger } from '../../../src/store/database/sql.ts';
import { queueAlert, setNoticeUrl } from '../../../src/store/deliveries/alerts.ts';
import type { Claimed } from '../../../src/store/deliveries/claim/claimed.ts';
import { markHeads } from '../../../src/store/deliveries/heads.ts';
import { listDeliveries } from '../../../src/store/deliveries/read.ts';
import { recordAttempts } from '../../../src/store/deliveries/record/record-attempts.ts';
import { redeliver } from '../../../src/store/deliveries/redeliver/redeliver.ts';
import { acceptEvents } from '../../../src/store/events/accept.ts';
import { stepNext } from '../../../src/store/tasks/run.ts';
import { deleteWebhook, moveWebhook } from '../../../src/store/webhooks/change.ts';
import { resumeWebhook, suspendWebhook } from '../../../src/store/webhooks/suspension.ts';
import { createTenant, TEST_CHANGE } from '../../support/api.ts';
import {
  accept,
  acceptMany,
  addReceiver,
  claim,
  completeAll,
  HOOK,
  newEvent,
  newReceiver,
  readDeliveries,
  respondedWith,
  statuses,
} from '../../support/deliveries.ts';
import { endpointNoOf } from '../../support/endpoints.ts';
import { alteredQueries, onSuiteEngine } from '../../support/stores.ts';
import { runTasks } from '../../support/tasks.ts';

const LIST = { page: 1, limit: 25, sortBy: 'dateCreated', sortDir: 'desc' } as const;
const NEW_HOME = 'https://new-home.example.com/hook';

onSuiteEngine('what waits', (store) => {
  const auditActions = async (entityId: string) =>
    (
      await store.db.all<{ action: string }>('select action from audit where entity_id = $1 order by id', [entityId])
    ).map(({ action }) => action);

  test('is cancelled when its webhook is deleted, and what is for others is not', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    const other = await addReceiver(store.db, entityId, 'https://other.example.com/');
    await acceptMany(store.db, entityId, 3);
    await deleteWebhook(store.db, entityId, webhookId, () => true, TEST_CHANGE);
    for (const delivery of await readDeliveries(store.db, entityId)) {
      const expected = delivery.webhookId === other ? { status: 'pending' } : { status: 'cancelled' };
      expect(delivery).toMatchObject(expected);
    }
    const cancelled = await listDeliveries(store.db, entityId, { ...LIST, status: 'cancelled' });
    expect(cancelled.totalResults).toBe(3);
    expect(cancelled.deliveries).toMatchObject(Array(3).fill({ webhookId, status: 'cancelled' }));
  });

  test('follows its webhook to a new URL', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 3);
    await moveWebhook(store.db, entityId, webhookId, NEW_HOME, () => true, TEST_CHANGE);
    expect(await claim(store.db, entityId)).toEqual([]);
    expect(await claim(store.db, entityId, 9, NEW_HOME)).toMatchObject(Array(3).fill({ postUrl: NEW_HOME }));
  });

  test('keeps its place when only the path has changed', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    const moved = 'https://hooks.example.com/elsewhere';
    await moveWebhook(store.db, entityId, webhookId, moved, () => true, TEST_CHANGE);
    expect(await claim(store.db, entityId)).toMatchObject([{ postUrl: moved }]);
  });

  test('is held while its webhook is suspended and released when it is resumed, from the first step again', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await accept(store.db, newEvent(entityId, { firstDelayMs: 3_600_000 }));
    expect(await suspendWebhook(store.db, entityId, webhookId, 'failing', TEST_CHANGE)).toBe(true);
    expect(await readDeliveries(store.db, entityId)).toMatchObject([{ status: 'held' }]);
    await accept(store.db, newEvent(entityId));
    expect(await claim(store.db, entityId)).toEqual([]);
    expect(await resumeWebhook(store.db, entityId, webhookId, TEST_CHANGE)).toEqual({ resumed: true });
    expect(await claim(store.db, entityId)).toMatchObject(Array(2).fill({ status: 'pending', steps: 0 }));
    expect(await auditActions(entityId)).toEqual(expect.arrayContaining(['webhook.suspended', 'webhook.resumed']));
  });

  test('is retried from the first step again after a resume', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    const next = { status: 'retrying', steps: 3, delayMs: 3_600_000, suspend: null } as const;
    const records = (await claim(store.db, entityId)).map((delivery) => ({
      delivery,
      next,
      outcome: respondedWith(500),
      startedAtMs: 0,
    }));
    await store.db.transaction((queries) => recordAttempts(queries, store.db.dialect, records));
    await suspendWebhook(store.db, entityId, webhookId, 'failing', TEST_CHANGE);
    await resumeWebhook(store.db, entityId, webhookId, TEST_CHANGE);
    expect(await claim(store.db, entityId)).toMatchObject([{ status: 'retrying', attempts: 1, steps: 0 }]);
  });

  test('is released to the URL that the webhook got while it was suspended', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    await moveWebhook(store.db, entityId, webhookId, NEW_HOME, () => true, TEST_CHANGE);
    await resumeWebhook(store.db, entityId, webhookId, TEST_CHANGE);
    expect(await claim(store.db, entityId, 9, NEW_HOME)).toMatchObject([{ postUrl: NEW_HOME }]);
  });

  test('is changed to the last of many thousands by one row', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 2_001);
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    expect(new Set(await statuses(store.db, entityId))).toEqual(new Set(['held']));
    await resumeWebhook(store.db, entityId, webhookId, TEST_CHANGE);
    expect(new Set(await statuses(store.db, entityId))).toEqual(new Set(['pending']));
    await deleteWebhook(store.db, entityId, webhookId, () => true, TEST_CHANGE);
    expect(new Set(await statuses(store.db, entityId))).toEqual(new Set(['cancelled']));
  });

  test('is not touched by suspending twice, nor by resuming what is in service or not there', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    expect(await suspendWebhook(store.db, entityId, webhookId, 'failing', TEST_CHANGE)).toBe(false);
    expect(await suspendWebhook(store.db, entityId, 'wh_nobody', 'gone', TEST_CHANGE)).toBe(false);
    await resumeWebhook(store.db, entityId, webhookId, TEST_CHANGE);
    expect(await resumeWebhook(store.db, entityId, webhookId, TEST_CHANGE)).toEqual({ resumed: false });
    expect(await resumeWebhook(store.db, entityId, 'wh_nobody', TEST_CHANGE)).toBeNull();
    const actions = (await auditActions(entityId)).filter((action) => /suspended|resumed/.test(action));
    expect(actions).toEqual(['webhook.suspended', 'webhook.resumed']);
  });

  test('is released also when it was accepted in the very moment of the resume', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    const resuming = await store.db.transaction(async (queries) => {
      await acceptEvents(queries, store.db.dialect, [newEvent(entityId)]);
      return resumeDuring(entityId, webhookId);
    });
    await resuming.done;
    expect(await statuses(store.db, entityId)).toEqual(['pending']);
  });

  test('is released also when it is being settled in the very moment of the resume', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    const [claimed] = await claim(store.db, entityId);
    if (claimed === undefined) throw new Error('nothing was claimed');
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    const next = { status: 'retrying', steps: 1, delayMs: 60_000, suspend: null } as const;
    const delivery = { ...claimed, postUrl: 'https://hooks.example.com/paybell' };
    const attempt = { delivery, next, outcome: respondedWith(500), startedAtMs: 0 };
    const resuming = await store.db.transaction(async (queries) => {
      await recordAttempts(queries, store.db.dialect, [attempt]);
      return resumeDuring(entityId, webhookId);
    });
    await resuming.done;
    expect(await statuses(store.db, entityId)).toEqual(['retrying']);
    expect(await claim(store.db, entityId)).toHaveLength(1);
  });

  /** Begins a resume while a transaction is open, and gives it the time to do all that does not wait for it. */
  async function resumeDuring(entityId: string, webhookId: string): Promise<{ done: Promise<unknown> }> {
    const done = resumeWebhook(store.db, entityId, webhookId, TEST_CHANGE);
    await Bun.sleep(60);
    return { done };
  }
});

onSuiteEngine('a delivery in flight', (store) => {
  async function claimedOne() {
    const receiver = await newReceiver(store.db);
    await acceptMany(store.db, receiver.entityId, 1);
    const [delivery] = await claim(store.db, receiver.entityId);
    if (delivery === undefined) throw new Error('nothing was claimed');
    return { ...receiver, delivery };
  }

  const record = (delivery: Claimed, statusCode: number, delayMs: number | null) => {
    const status = statusCode === 200 ? 'delivered' : delayMs === null ? 'failed' : 'retrying';
    const next = { status, steps: 1, delayMs, suspend: null } as const;
    const attempt = { delivery, next, outcome: respondedWith(statusCode), startedAtMs: 0 };
    return store.db.transaction((queries) => recordAttempts(queries, store.db.dialect, [attempt]));
  };

  test('whose webhook is suspended meanwhile is delivered if it arrives, and held if it does not', async () => {
    for (const [statusCode, status] of [
      [200, 'delivered'],
      [500, 'held'],
    ] as const) {
      const { entityId, webhookId, delivery } = await claimedOne();
      await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
      await record(delivery, statusCode, statusCode === 200 ? null : 5_000);
      expect(await readDeliveries(store.db, entityId)).toMatchObject([{ status, attempts: 1 }]);
    }
  });

  test.each([
    ['before', [200, 'delivered']],
    ['after', [200, 'delivered']],
    ['before', [500, 'cancelled']],
    ['after', [500, 'cancelled']],
  ] as const)('whose webhook is deleted meanwhile, recorded %s the sweep: %p', async (when, [statusCode, status]) => {
    const { entityId, webhookId, delivery } = await claimedOne();
    await deleteWebhook(store.db, entityId, webhookId, () => true, TEST_CHANGE);
    if (when === 'after') await sweepAll(store.db);
    await record(delivery, statusCode, statusCode === 200 ? null : 5_000);
    await sweepAll(store.db);
    expect(await readDeliveries(store.db, entityId)).toMatchObject([{ status, dueMs: null }]);
    const { totalResults } = await listDeliveries(store.db, entityId, { ...LIST, status });
    expect(totalResults).toBe(1);
  });

  test('whose webhook moves meanwhile is retried at the new URL', async () => {
    const { entityId, webhookId, delivery } = await claimedOne();
    await moveWebhook(store.db, entityId, webhookId, NEW_HOME, () => true, TEST_CHANGE);
    await record(delivery, 500, 0);
    expect(await claim(store.db, entityId, 9, NEW_HOME)).toMatchObject([{ token: 2, attempts: 1, postUrl: NEW_HOME }]);
  });
});

onSuiteEngine('the task after a deletion', (store) => {
  const queued = (entityId: string) =>
    store.db.all('select id from queue where entity_id = $1', [entityKey(store.db.dialect, entityId)]);

  test('records everything in bounded steps, goes on after a stop, and a repeated step changes nothing', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1_201);
    await deleteWebhook(store.db, entityId, webhookId, () => true, TEST_CHANGE);
    const entity = entityKey(store.db.dialect, entityId);
    for (const left of [701, 201]) {
      expect(await stepNext(store.db, entity)).toMatchObject({ task: { phase: 'emptying' }, isDone: false });
      expect(await queued(entityId)).toHaveLength(left);
    }
    const cancelled = () => listDeliveries(store.db, entityId, { ...LIST, status: 'cancelled' });
    expect((await cancelled()).totalResults).toBe(1_201);
    for (let run = 0; run < 2; run++) {
      await runTasks(store.db);
      expect((await cancelled()).totalResults).toBe(1_201);
      expect(await queued(entityId)).toEqual([]);
    }
  });

  test('watches the queue of the webhook for a day, and looks ever more rarely', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await deleteWebhook(store.db, entityId, webhookId, () => true, TEST_CHANGE);
    await runTasks(store.db);
    const waits: number[] = [];
    for (const hours of [0, 1, 5]) {
      const since = `cursor = cast(${store.db.dialect.nowMs} - ${hours * 3_600_000} as text), wait_ms = 0`;
      const key = [entityKey(store.db.dialect, entityId)];
      await store.db.transaction((queries) => queries.run(`update tasks set ${since} where entity_id = $1`, key));
      await stepNext(store.db, entityKey(store.db.dialect, entityId));
      waits.push(
        await readInteger(
          store.db,
          `(wait_ms - ${store.db.dialect.nowMs} + 5000) / 60000`,
          'from tasks where entity_id = $1',
          key,
        ),
      );
    }
    expect(waits).toEqual([1, 60, 300]);
    await store.db.transaction((queries) => queries.run(`update tasks set wait_ms = 0, cursor = '1000'`));
    expect(await stepNext(store.db, entityKey(store.db.dialect, entityId))).toMatchObject({ isDone: true });
  });

  test('ends once the queue is wanted again', async () => {
    const { entityId } = await createTenant(store.db);
    const alertOnce = () =>
      store.db.transaction((queries) =>
        queueAlert(queries, store.db.dialect, { entityId, networkId: 1, event: 'chain.halted' }, {}),
      );
    const setUrl = (url: string | null) => setNoticeUrl(store.db, entityId, url, TEST_CHANGE);
    await setUrl('https://alerts.example.com/');
    await alertOnce();
    await setUrl(null);
    await runTasks(store.db);
    expect(await queued(entityId)).toEqual([]);
    await setUrl('https://alerts.example.com/');
    await alertOnce();
    await runTasks(store.db);
    expect(await queued(entityId)).toHaveLength(1);
    const key = [entityKey(store.db.dialect, entityId)];
    expect(await readInteger(store.db, 'count(*)', 'from tasks where entity_id = $1', key)).toBe(0);
  });

  test('takes what an acceptance in flight adds after it', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    const remove = async () => {
      await deleteWebhook(store.db, entityId, webhookId, () => true, TEST_CHANGE);
      await runTasks(store.db);
    };
    const late = await store.db.transaction(async (queries) => {
      // SQLite has one writer, which makes the two wait for each other.
      const deleting = store.engine === 'sqlite' ? queries : beforeInserting('event_counts', queries, remove);
      return (await acceptEvents(deleting, store.db.dialect, [newEvent(entityId)])).results;
    });
    expect(late).toMatchObject([{ deliveries: 1 }]);
    await remove();
    await sweepAll(store.db);
    expect(await statuses(store.db, entityId)).toEqual(['cancelled', 'cancelled']);
    expect(await queued(entityId)).toEqual([]);
  });

  test('gives what was to be sent again the status that it had', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    await completeAll(store.db, entityId, 'delivered');
    const [delivery] = await readDeliveries(store.db, entityId);
    await redeliver(store.db, entityId, delivery?.deliveryId ?? '');
    await deleteWebhook(store.db, entityId, webhookId, () => true, TEST_CHANGE);
    await sweepAll(store.db);
    expect(await statuses(store.db, entityId)).toEqual(['delivered']);
    expect(await queued(entityId)).toEqual([]);
  });
});

/** The same statements, with something else done before the first that inserts into the table. */
function beforeInserting(table: string, queries: Queries, act: () => Promise<unknown>): Queries {
  let isDone = false;
  return alteredQueries(queries, {
    run: async (sql, params) => {
      if (!isDone && sql.startsWith(`insert into ${table} `)) {
        isDone = true;
        await act();
      }
      return queries.run(sql, params);
    },
  });
}

async function sweepAll(db: Database): Promise<void> {
  await runTasks(db);
}

onSuiteEngine('since when a webhook fails', (store) => {
  test('is noted at the first failure, kept by the next, and forgotten after a success', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    const { created_seq } = (await store.db.get<{ created_seq: SqlInteger }>(
      'select created_seq from webhooks where entity_id = $1 and id = $2',
      [entityId, webhookId],
    )) ?? { created_seq: 0 };
    const endpointNo = await endpointNoOf(store.db, entityId, HOOK);
    const head = { entityId, webhookNo: Number(created_seq), endpointNo };
    const mark = (isFailing: boolean) => markHeads(store.db, [{ ...head, isFailing }]);
    const failingSince = async () => {
      await acceptMany(store.db, entityId, 1);
      return (await claim(store.db, entityId)).at(-1)?.failingSinceMs;
    };
    expect(await failingSince()).toBeNull();
    await mark(true);
    const since = await failingSince();
    expect(since).toBeNumber();
    await Bun.sleep(5);
    await mark(true);
    expect(await failingSince()).toBe(since ?? 0);
    await mark(false);
    expect(await failingSince()).toBeNull();
  });
});
