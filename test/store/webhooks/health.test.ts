import { afterEach, expect, test } from 'bun:test';
import type { Database } from '../../../src/store/database/database.ts';
import { deleteMatching, deleteWebhook } from '../../../src/store/webhooks/change.ts';
import { type HealthReport, readHealth, recordHealth, setNoticeUrl } from '../../../src/store/webhooks/health.ts';
import { insertWebhooks } from '../../../src/store/webhooks/register.ts';
import { resumeWebhook, suspendWebhook } from '../../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import {
  claim,
  createEngine,
  forgetDeliveries,
  LATE_ON_1,
  letPass,
  newReceiver,
  readAttempts,
  readDeliveries,
  respondedWith,
  ScriptedSender,
  withEngine,
} from '../../support/deliveries.ts';
import { onEveryEngine } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

const START_MS = 1_763_168_400_000;
const at = (seconds: number) => START_MS + seconds * 1000;
const secondsAt = (seconds: number) => START_MS / 1000 + seconds;

onEveryEngine('the health of a webhook', (store) => {
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

  test('is active and without dates before the first attempt', async () => {
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

  test('adds up failures from report to report, and a success resets them', async () => {
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

  test('merges the reports of two instances in any order', async () => {
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

  test('shows that it is suspended and why, and resuming it clears both and resets the count', async () => {
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

  test('is deleted with the webhook, and no late report brings it back', async () => {
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

  test('cannot be read by another entity', async () => {
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

onEveryEngine('the alert about a suspension', (store) => {
  const NOTICE_URL = 'https://alerts.example.com/paybell';

  afterEach(() => forgetDeliveries(store.db));

  test('is one delivery however often the webhook is found gone, and none without a notice URL', async () => {
    const withUrl = await newReceiver(store.db);
    const withoutUrl = await newReceiver(store.db);
    await setNoticeUrl(store.db, withUrl.entityId, NOTICE_URL, TEST_CHANGE);
    for (const { entityId, webhookId } of [withUrl, withoutUrl]) {
      const suspend = () => suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
      const done = await Promise.all(Array.from({ length: 5 }, suspend));
      expect(done.filter(Boolean)).toHaveLength(1);
    }
    expect(await readDeliveries(store.db, withUrl.entityId)).toHaveLength(1);
    expect(await readDeliveries(store.db, withoutUrl.entityId)).toEqual([]);
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

  test('is independent of an imported webhook with the id that lists show for an alert', async () => {
    const { entityId, webhookId } = await newReceiver(store.db);
    const imported = {
      ...LATE_ON_1,
      webhookId: 'notice',
      postUrl: 'https://imported.example.com/',
      dateCreated: 1,
      entityId,
      createdSeq: 1,
    };
    await store.db.transaction((queries) => insertWebhooks(queries, [imported]));
    await setNoticeUrl(store.db, entityId, NOTICE_URL, TEST_CHANGE);
    await suspendWebhook(store.db, entityId, webhookId, 'gone', TEST_CHANGE);
    const engine = createEngine(store.db, new ScriptedSender(() => respondedWith(410)));
    await engine.start();
    await until('the alert is sent', async () => (await readAttempts(store.db, entityId)).length === 1);
    await engine.stop();
    expect((await readHealth(store.db, entityId, 'notice'))?.state).toBe('active');
    await suspendWebhook(store.db, entityId, 'notice', 'gone', TEST_CHANGE);
    await letPass(store.db, entityId, 86_400_000);
    expect(await claim(store.db, entityId, 1, NOTICE_URL)).toMatchObject([
      { isAlert: true, postUrl: NOTICE_URL, suspended: false },
    ]);
    await deleteWebhook(store.db, entityId, 'notice', () => true, TEST_CHANGE);
    expect((await readDeliveries(store.db, entityId))[0]?.status).toBe('retrying');
  });

  test('goes to the current notice URL, and is cancelled once alerts are turned off', async () => {
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
      until('both are completed', async () => {
        return (await statusOf(moved)) === 'delivered' && (await statusOf(off)) === 'cancelled';
      }),
    );
    expect(sender.requests.map(({ postUrl }) => postUrl)).toEqual(['https://elsewhere.example.com/']);
  });
});
