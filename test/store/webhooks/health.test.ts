import { afterEach, expect, test } from 'bun:test';
import type { Database } from '../../../src/store/database/database.ts';
import { setNoticeUrl } from '../../../src/store/deliveries/alerts.ts';
import { deleteMatching, deleteWebhook } from '../../../src/store/webhooks/change.ts';
import { type HealthReport, readHealth, recordHealth } from '../../../src/store/webhooks/health.ts';
import { resumeWebhook, suspendWebhook } from '../../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import {
  forgetDeliveries,
  newReceiver,
  readAttempts,
  readDeliveries,
  respondedWith,
  ScriptedSender,
  withEngine,
} from '../../support/deliveries.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

const START_MS = 1_763_168_400_000;
const at = (seconds: number) => START_MS + seconds * 1000;
const secondsAt = (seconds: number) => START_MS / 1000 + seconds;

onSuiteEngine('how a webhook fares', (store) => {
  type Seen = { failures?: number; success?: number; failure?: number };

  async function oneWebhook() {
    const { entityId, webhookId } = await newReceiver(store.db);
    const report = ({ failures = 0, success, failure }: Seen): HealthReport => ({
      entityId,
      webhookId,
      failuresInARow: failures,
      lastSuccessMs: success === undefined ? null : at(success),
      lastFailureMs: failure === undefined ? null : at(failure),
    });
    const note = (...seen: Seen[]) => recordHealth(store.db, seen.map(report));
    return { entityId, webhookId, note, read: () => readHealth(store.db, entityId, webhookId) };
  }

  test('is active and without dates as long as nothing was sent', async () => {
    const { webhookId, read } = await oneWebhook();
    expect(await read()).toEqual({
      webhookId,
      state: 'active',
      reason: null,
      failuresInARow: 0,
      dateLastSuccess: null,
      dateLastFailure: null,
    });
  });

  test('adds failures up from report to report, and a success ends the row', async () => {
    const { note, read } = await oneWebhook();
    await note({ failures: 2, failure: 2 });
    await note({ failures: 3, failure: 5 });
    expect(await read()).toMatchObject({ failuresInARow: 5, dateLastSuccess: null, dateLastFailure: secondsAt(5) });
    await note({ success: 6 });
    expect(await read()).toMatchObject({
      failuresInARow: 0,
      dateLastSuccess: secondsAt(6),
      dateLastFailure: secondsAt(5),
    });
    await note({ failures: 1, success: 7, failure: 8 });
    expect(await read()).toMatchObject({ failuresInARow: 1, dateLastSuccess: secondsAt(7) });
  });

  test('merges the reports of two instances in whatever order they come', async () => {
    const { note, read } = await oneWebhook();
    await note({ success: 20 });
    // Another instance, later to write: its success and its failures are all from before.
    await note({ failures: 2, success: 10, failure: 12 });
    expect(await read()).toMatchObject({
      failuresInARow: 0,
      dateLastSuccess: secondsAt(20),
      dateLastFailure: secondsAt(12),
    });
    await note({ failures: 4, failure: 30 });
    await note({ failures: 1, success: 15, failure: 25 });
    expect(await read()).toMatchObject({
      failuresInARow: 5,
      dateLastSuccess: secondsAt(20),
      dateLastFailure: secondsAt(30),
    });
  });

  test('says that it is suspended and why, and resuming it clears both and begins to count anew', async () => {
    const { entityId, webhookId, note, read } = await oneWebhook();
    await note({ failures: 9, success: 1, failure: 5 });
    await suspendWebhook(store.db, entityId, webhookId, 'failing', TEST_CHANGE);
    expect(await read()).toMatchObject({ state: 'suspended', reason: 'failing', failuresInARow: 9 });
    await resumeWebhook(store.db, entityId, webhookId, TEST_CHANGE);
    expect(await read()).toMatchObject({
      state: 'active',
      reason: null,
      failuresInARow: 0,
      dateLastSuccess: secondsAt(1),
      dateLastFailure: secondsAt(5),
    });
  });

  test('is forgotten with the webhook, however it is deleted, and no late report brings it back', async () => {
    const deletions = [
      (entityId: string, webhookId: string) => deleteWebhook(store.db, entityId, webhookId, () => true, TEST_CHANGE),
      (entityId: string) => deleteMatching(store.db, entityId, { networkId: 1 }, TEST_CHANGE),
    ];
    for (const remove of deletions) {
      const { entityId, webhookId, note, read } = await oneWebhook();
      await note({ failures: 1, failure: 5 });
      expect(await rowsOf(store.db, entityId)).toBe(1);
      await remove(entityId, webhookId);
      await note({ failures: 1, failure: 6 });
      expect(await rowsOf(store.db, entityId)).toBe(0);
      expect(await read()).toBeNull();
    }
  });

  test('is nobody else’s to read', async () => {
    const { webhookId } = await oneWebhook();
    const { entityId: other } = await oneWebhook();
    expect(await readHealth(store.db, other, webhookId)).toBeNull();
  });

  test('takes the reports of hundreds at once', async () => {
    const receivers = await Promise.all(Array.from({ length: 230 }, () => newReceiver(store.db)));
    const reports = receivers.map((receiver, index) => ({
      ...receiver,
      failuresInARow: index,
      lastSuccessMs: null,
      lastFailureMs: at(index),
    }));
    await Promise.all([recordHealth(store.db, reports), recordHealth(store.db, reports.toReversed())]);
    for (const index of [1, 99, 100, 229]) {
      const { entityId = '', webhookId = '' } = receivers[index] ?? {};
      expect(await readHealth(store.db, entityId, webhookId)).toMatchObject({ failuresInARow: index * 2 });
    }
  });
});

function rowsOf(db: Database, entityId: string): Promise<number> {
  return db.all('select * from webhook_health where entity_id = $1', [entityId]).then((rows) => rows.length);
}

onSuiteEngine('the notice of a suspension', (store) => {
  const NOTICE_URL = 'https://notices.example.com/paybell';

  afterEach(() => forgetDeliveries(store.db));

  test('is one post however often the webhook is found gone, and none where no URL is set', async () => {
    const told = await newReceiver(store.db);
    const untold = await newReceiver(store.db);
    await setNoticeUrl(store.db, told.entityId, NOTICE_URL, TEST_CHANGE);
    for (const { entityId, webhookId } of [told, untold]) {
      const suspend = () => suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
      const done = await Promise.all(Array.from({ length: 5 }, suspend));
      expect(done.filter(Boolean)).toHaveLength(1);
    }
    expect(await readDeliveries(store.db, told.entityId)).toHaveLength(1);
    expect(await readDeliveries(store.db, untold.entityId)).toEqual([]);
  });

  test('is retried by the schedule, says what happened, and counts for no webhook’s health', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    await setNoticeUrl(store.db, entityId, NOTICE_URL, TEST_CHANGE);
    await suspendWebhook(store.db, entityId, webhookId, 'failing', TEST_CHANGE);
    const sender = new ScriptedSender(() => respondedWith(sender.requests.length < 3 ? 500 : 200));
    await withEngine(
      store.db,
      sender,
      () => until('it is delivered', async () => (await readDeliveries(store.db, entityId))[0]?.status === 'delivered'),
      { settings: { RETRY_SCHEDULE: '0s,0s,0s,1h' } },
    );
    const kinds = (await readAttempts(store.db, entityId)).map(({ kind, statusCode }) => `${kind} ${statusCode}`);
    expect(kinds).toEqual(['first 500', 'retry 500', 'retry 200']);
    expect(sender.requests.map(({ postUrl }) => postUrl)).toEqual(Array(3).fill(NOTICE_URL));
    const body = JSON.parse(String(sender.requests[0]?.body));
    expect(body).toEqual({
      eventId: sender.eventIds[0],
      event: 'webhook.suspended',
      reason: 'failing',
      webhook: { webhookId, networkId: 1, event: 'LatePayment', postUrl: 'https://hooks.example.com/paybell' },
      dateSuspended: TEST_CHANGE.nowS,
    });
    expect(await rowsOf(store.db, entityId)).toBe(0);
  });

  test('goes to the URL as it is when it is sent, and nowhere once notices are switched off', async () => {
    const moved = await newReceiver(store.db);
    const off = await newReceiver(store.db);
    for (const { entityId, webhookId } of [moved, off]) {
      await setNoticeUrl(store.db, entityId, NOTICE_URL, TEST_CHANGE);
      await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    }
    await setNoticeUrl(store.db, moved.entityId, 'https://elsewhere.example.com/', TEST_CHANGE);
    await setNoticeUrl(store.db, off.entityId, null, TEST_CHANGE);
    const sender = new ScriptedSender();
    const statusOf = async ({ entityId }: { entityId: string }) =>
      (await readDeliveries(store.db, entityId))[0]?.status;
    await withEngine(store.db, sender, () =>
      until('both are settled', async () => {
        return (await statusOf(moved)) === 'delivered' && (await statusOf(off)) === 'cancelled';
      }),
    );
    expect(sender.requests.map(({ postUrl }) => postUrl)).toEqual(['https://elsewhere.example.com/']);
  });
});
