import { expect, test } from 'bun:test';
import { HealthRecorder } from '../../../src/delivery/jobs/webhook-health.ts';
import type { Outcome } from '../../../src/domain/attempt.ts';
import { StoreUnavailableError } from '../../../src/store/database/database.ts';
import type { AttemptRecord } from '../../../src/store/deliveries/record/attempt-log.ts';
import { readHealth } from '../../../src/store/webhooks/health.ts';
import { failedWith, newReceiver, respondedWith } from '../../support/deliveries.ts';
import { rejection } from '../../support/rejection.ts';
import { alteredStore, onSuiteEngine } from '../../support/stores.ts';

const START_MS = 1_763_168_400_000;

onSuiteEngine('the health recorder', (store) => {
  async function oneWebhook(recorder: HealthRecorder) {
    const { entityId, webhookId } = await newReceiver(store.db);
    const note = (second: number, outcome: Outcome) =>
      recorder.note({
        delivery: { entityId, webhookId } as AttemptRecord['delivery'],
        outcome,
        startedAtMs: START_MS + second * 1000,
      } as AttemptRecord);
    return { note, read: () => readHealth(store.db, entityId, webhookId) };
  }

  test('writes failures in a row and the last dates of each webhook', async () => {
    const recorder = new HealthRecorder(store.db);
    const bad = await oneWebhook(recorder);
    const good = await oneWebhook(recorder);
    bad.note(1, respondedWith(200));
    bad.note(2, respondedWith(500));
    bad.note(3, failedWith('timeout'));
    bad.note(4, failedWith('proxy_refused'));
    good.note(1, respondedWith(500));
    good.note(4, respondedWith(204));
    expect(await bad.read()).toMatchObject({ dateLastSuccess: null });
    await recorder.flush();
    const second = (seconds: number) => START_MS / 1000 + seconds;
    expect(await bad.read()).toMatchObject({
      failuresInARow: 2,
      dateLastSuccess: second(1),
      dateLastFailure: second(3),
    });
    expect(await good.read()).toMatchObject({
      failuresInARow: 0,
      dateLastSuccess: second(4),
      dateLastFailure: second(1),
    });
  });

  test('dates an attempt by its end', async () => {
    const recorder = new HealthRecorder(store.db);
    const { note, read } = await oneWebhook(recorder);
    note(0, { ...respondedWith(500), durationMs: 14_600.4 });
    await recorder.flush();
    expect(await read()).toMatchObject({ dateLastFailure: START_MS / 1000 + 14 });
  });

  test('writes each report once, and counts on from there', async () => {
    const recorder = new HealthRecorder(store.db);
    const { note, read } = await oneWebhook(recorder);
    note(1, respondedWith(500));
    await recorder.flush();
    await recorder.flush();
    note(2, respondedWith(500));
    await recorder.flush();
    expect(await read()).toMatchObject({ failuresInARow: 2 });
  });

  test('uses the store only when there is something to write, and survives an outage', async () => {
    let calls = 0;
    const down = alteredStore(store.db, {
      transaction: () => {
        calls++;
        return Promise.reject(new StoreUnavailableError('down'));
      },
    });
    const recorder = new HealthRecorder(down);
    await recorder.flush();
    expect(calls).toBe(0);
    const { note } = await oneWebhook(recorder);
    note(1, respondedWith(500));
    expect((await rejection(recorder.flush())).message).toContain('down');
    await recorder.flush();
    expect(calls).toBe(1);
  });
});
