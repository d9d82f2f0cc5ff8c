import { expect, test } from 'bun:test';
import pino from 'pino';
import { SuspensionMonitor } from '../../../src/delivery/jobs/webhook-health.ts';
import { WorkerHealth } from '../../../src/delivery/worker-health.ts';
import { type Outcome, SUSPEND_AFTER_MS } from '../../../src/domain/attempt.ts';
import { RETRACTION } from '../../../src/domain/event-kinds.ts';
import { entityKey, readInteger } from '../../../src/store/database/sql.ts';
import type { Claimed } from '../../../src/store/deliveries/claim/claimed.ts';
import { makeHeads } from '../../../src/store/deliveries/heads.ts';
import type { AttemptRecord } from '../../../src/store/deliveries/record/attempt-log.ts';
import { RETRACTIONS_FROM } from '../../../src/store/deliveries/retraction-heads.ts';
import { moveWebhook } from '../../../src/store/webhooks/change.ts';
import { resumeWebhook, suspendWebhook } from '../../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import {
  accept,
  acceptMany,
  claim,
  failedWith,
  HOOK,
  LEASE_MS,
  letPass,
  newEvent,
  newReceiver,
  respondedWith,
  statuses,
} from '../../support/deliveries.ts';
import { attemptThat, record as recordAttempt } from '../../support/order.ts';
import { alteredStore, onSuiteEngine } from '../../support/stores.ts';
import { runTasks } from '../../support/tasks.ts';

const OK = respondedWith(200);
const DOWN = respondedWith(500);
const REFUSED = respondedWith(400);
const GONE = respondedWith(410);

onSuiteEngine('the suspension monitor', (store) => {
  async function begin() {
    const receiver = await newReceiver(store.db);
    const [accepted] = await acceptMany(store.db, receiver.entityId, 1);
    const lines: { msg: string; webhookId?: string; reason?: string }[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) });
    const monitor = new SuspensionMonitor(store.db, log, new WorkerHealth('test'));
    const note = async (...record: AttemptRecord[]) => {
      monitor.note(record);
      await monitor.idle();
    };
    const state = () =>
      store.db.get<{ suspended_reason: string | null; failing_since_ms: number | null }>(
        `select w.suspended_reason, h.failing_since_ms from webhooks w
         left join queue_heads h on h.webhook_id = w.id and h.entity_id = $3 where w.entity_id = $1 and w.id = $2`,
        [receiver.entityId, receiver.webhookId, entityKey(store.db.dialect, receiver.entityId)],
      );
    const reclaim = async () => {
      await letPass(store.db, receiver.entityId, LEASE_MS);
      const [claimed] = await claim(store.db, receiver.entityId);
      if (claimed === undefined) throw new Error('nothing was claimed');
      return claimed;
    };
    const claimed = await reclaim();
    /** Delivers the event and takes it back. The next claim is its retraction. */
    const retract = async () => {
      const retracts = accepted?.eventId ?? '';
      const { entityId } = receiver;
      await recordAttempt(store.db, attemptThat('delivered', claimed));
      const body = JSON.stringify({ event: RETRACTION, networkId: 1, retracts: { eventId: retracts } });
      await accept(store.db, newEvent(entityId, { event: RETRACTION, body, retracts }));
      await runTasks(store.db);
      const retraction = await reclaim();
      if (!(retraction.webhookNo >= RETRACTIONS_FROM)) throw new Error('what was claimed is no retraction');
      return retraction;
    };
    return { ...receiver, claimed, lines, note, reclaim, retract, state };
  }

  /** Without a webhook, so that it is quickly made; nothing here reads that. */
  async function addHead(entityId: string, index: number): Promise<{ webhookId: string; webhookNo: number }> {
    const head = {
      entityId,
      webhookId: `crowd-${index}`,
      webhookNo: 1_000 + index,
      networkId: 1,
      event: 'LatePayment',
    };
    await store.db.transaction((queries) => makeHeads(queries, store.db.dialect, [{ ...head, postUrl: HOOK }], 1));
    return head;
  }

  function record(claimed: Claimed, outcome: Outcome, startedAtMs = Date.now()): AttemptRecord {
    const suspend = outcome === GONE ? 'gone' : null;
    const next = { status: 'retrying', steps: 1, delayMs: 1, suspend } as const;
    return { delivery: { ...claimed, postUrl: HOOK }, next, outcome, startedAtMs };
  }

  test('suspends a webhook on 410, holds its deliveries, and writes to the log and the audit', async () => {
    const { entityId, webhookId, claimed, lines, note, state } = await begin();
    await note(record(claimed, GONE));
    expect(await state()).toMatchObject({ suspended_reason: 'gone' });
    expect(await statuses(store.db, entityId)).toEqual(['held']);
    expect(lines).toMatchObject([{ msg: 'webhook suspended', webhookId, reason: 'gone' }]);
    const sql = `select actor, target, after from audit where entity_id = $1 and action = 'webhook.suspended'`;
    expect(await store.db.all<{ actor: string; target: string; after: string }>(sql, [entityId])).toEqual([
      { actor: 'paybell', target: webhookId, after: '{"reason":"gone"}' },
    ]);
  });

  test('takes no notice of failures of our own proxy, however long they last', async () => {
    const { claimed, lines, note, reclaim, state } = await begin();
    const ownFailure = failedWith('proxy_unreachable');
    await note(record(claimed, ownFailure));
    expect(await state()).toMatchObject({ failing_since_ms: null });
    await note(record(await reclaim(), DOWN));
    const failing = await reclaim();
    await note(record(failing, ownFailure, (failing.failingSinceMs ?? 0) + SUSPEND_AFTER_MS));
    expect(await state()).toMatchObject({ suspended_reason: null });
    expect(lines).toEqual([]);
  });

  test('suspends a webhook after five days without a success, and not a millisecond before', async () => {
    const { entityId, claimed, lines, note, reclaim, state } = await begin();
    await note(record(claimed, DOWN));
    const failing = await reclaim();
    const sinceMs = failing.failingSinceMs ?? 0;
    expect(sinceMs).toBeGreaterThan(0);
    await note(record(failing, DOWN, sinceMs + SUSPEND_AFTER_MS - 1));
    expect(await state()).toMatchObject({ suspended_reason: null });
    await note(record(failing, DOWN, sinceMs + SUSPEND_AFTER_MS));
    expect(await state()).toMatchObject({ suspended_reason: 'failing' });
    expect(await statuses(store.db, entityId)).toEqual(['held']);
    expect(lines).toMatchObject([{ msg: 'webhook suspended', reason: 'failing' }]);
  });

  test('counts the five days from the beginning after a success', async () => {
    const { claimed, note, reclaim, state } = await begin();
    await note(record(claimed, DOWN));
    await note(record(await reclaim(), OK));
    expect(await state()).toMatchObject({ failing_since_ms: null });
    await note(record(await reclaim(), DOWN, Date.now() + SUSPEND_AFTER_MS));
    expect(await state()).toMatchObject({ suspended_reason: null, failing_since_ms: expect.anything() });
  });

  test('does not suspend a webhook whose receiver refuses retractions alone, however far apart', async () => {
    const { claimed, lines, note, reclaim, retract, state } = await begin();
    await note(record(await retract(), REFUSED));
    await note(record(claimed, OK));
    const sixDaysLaterMs = Date.now() + SUSPEND_AFTER_MS + 86_400_000;
    await note(record(await reclaim(), REFUSED, sixDaysLaterMs));
    expect(await state()).toMatchObject({ suspended_reason: null });
    expect(lines).toEqual([]);
    await note(record(await reclaim(), GONE));
    expect(await state()).toMatchObject({ suspended_reason: 'gone' });
  });

  test('notices a success beside that of a retraction', async () => {
    const { entityId, claimed, note, retract } = await begin();
    const key = entityKey(store.db.dialect, entityId);
    const failing = () =>
      readInteger(store.db, 'count(*)', 'from queue_heads where entity_id = $1 and failing_since_ms is not null', [
        key,
      ]);
    await note(record(claimed, DOWN));
    expect(await failing()).toBe(1);
    await note(record(claimed, OK), record(await retract(), OK));
    expect(await failing()).toBe(0);
  });

  test('takes a success into account that was claimed before the first failure was noted', async () => {
    const { claimed, note, state } = await begin();
    await note(record(claimed, DOWN));
    await note(record(claimed, OK));
    expect(await state()).toMatchObject({ failing_since_ms: null });
  });

  test('prefers a success to a failure of the same batch, and a 410 to both', async () => {
    const { claimed, note, reclaim, state } = await begin();
    await note(record(claimed, DOWN));
    const failing = await reclaim();
    const lateMs = (failing.failingSinceMs ?? 0) + SUSPEND_AFTER_MS;
    await note(record(failing, OK), record(failing, DOWN, lateMs));
    expect(await state()).toMatchObject({ suspended_reason: null, failing_since_ms: null });
    await note(record(failing, GONE), record(failing, OK));
    expect(await state()).toMatchObject({ suspended_reason: 'gone' });
  });

  test('does not suspend a webhook again for an attempt that was claimed before it was resumed', async () => {
    const { entityId, webhookId, claimed, reclaim, note, state } = await begin();
    await note(record(claimed, GONE));
    await resumeWebhook(store.db, entityId, webhookId, { actor: 'test', nowS: 1 });
    await note(record(claimed, GONE));
    expect(await state()).toMatchObject({ suspended_reason: null });
    expect(await statuses(store.db, entityId)).toEqual(['pending']);
    await note(record(await reclaim(), GONE));
    expect(await state()).toMatchObject({ suspended_reason: 'gone' });
  });

  test('neither suspends nor marks a webhook for an attempt at a URL from which it was moved', async () => {
    const { entityId, webhookId, claimed, reclaim, note, state } = await begin();
    const moveTo = (postUrl: string) => moveWebhook(store.db, entityId, webhookId, postUrl, () => true, TEST_CHANGE);
    await moveTo('https://new.example.com/hook');
    await note(record(claimed, DOWN));
    expect(await state()).toEqual({ suspended_reason: null, failing_since_ms: null });
    await note(record(claimed, GONE));
    expect(await state()).toMatchObject({ suspended_reason: null });
    await moveTo(HOOK);
    await note(record(await reclaim(), GONE));
    expect(await state()).toMatchObject({ suspended_reason: 'gone' });
  });

  test('suspends once when many attempts end in 410', async () => {
    const { entityId, webhookId, claimed, lines, note } = await begin();
    await note(record(claimed, GONE));
    await note(record(claimed, GONE), record(claimed, GONE));
    expect(lines).toHaveLength(1);
    expect(await suspendWebhook(store.db, entityId, webhookId, 'gone', { actor: 'test', nowS: 1 })).toBe(false);
  });

  test('marks a crowd of failing webhooks with few transactions, and none again that is marked', async () => {
    const { entityId, claimed } = await begin();
    const crowd: Claimed[] = [];
    for (let index = 0; index < 250; index++) crowd.push({ ...claimed, ...(await addHead(entityId, index)) });
    let transactions = 0;
    const counted = alteredStore(store.db, {
      transaction: (work, options) => {
        transactions++;
        return store.db.transaction(work, options);
      },
    });
    const monitor = new SuspensionMonitor(counted, pino({ level: 'silent' }), new WorkerHealth('test'));
    const failing = () => readInteger(store.db, 'count(*)', 'from queue_heads where failing_since_ms is not null');
    const before = await failing();
    monitor.note(crowd.map((one) => record(one, DOWN)));
    await monitor.idle();
    expect([transactions, (await failing()) - before]).toEqual([3, 250]);

    monitor.note(crowd.map((one) => record(one, DOWN, 1)));
    await monitor.idle();
    expect(transactions).toBe(3);

    monitor.note(crowd.map((one, index) => record(one, index < 200 ? OK : GONE)));
    await monitor.idle();
    expect((await failing()) - before).toBe(50);
  });

  test('marks a webhook after its next attempt where the store failed', async () => {
    const { claimed, state } = await begin();
    let refused = 0;
    const flaky = alteredStore(store.db, {
      transaction: (work, options) =>
        refused++ === 0 ? Promise.reject(new Error('refused')) : store.db.transaction(work, options),
    });
    const monitor = new SuspensionMonitor(flaky, pino({ level: 'silent' }), new WorkerHealth('test'));
    const noteAndRead = async (outcome: Outcome) => {
      monitor.note([record(claimed, outcome)]);
      await monitor.idle();
      return (await state())?.failing_since_ms ?? null;
    };
    expect(await noteAndRead(DOWN)).toBeNull();
    expect(await noteAndRead(DOWN)).not.toBeNull();
    refused = 0;
    expect(await noteAndRead(OK)).not.toBeNull();
    expect(await noteAndRead(OK)).toBeNull();
  });

  test('handles the others when the store rejects one', async () => {
    const [one, two] = [await begin(), await begin()];
    let refused = 0;
    const flaky = alteredStore(store.db, {
      transaction: (work, options) =>
        refused++ === 0 ? Promise.reject(new Error('refused')) : store.db.transaction(work, options),
    });
    const monitor = new SuspensionMonitor(flaky, pino({ level: 'silent' }), new WorkerHealth('test'));
    monitor.note([record(one.claimed, GONE), record(two.claimed, GONE)]);
    await monitor.idle();
    expect([await one.state(), await two.state()]).toMatchObject([
      { suspended_reason: null },
      { suspended_reason: 'gone' },
    ]);
    monitor.note([record(one.claimed, GONE)]);
    await monitor.idle();
    expect(await one.state()).toMatchObject({ suspended_reason: 'gone' });
  });
});
