import { expect, test } from 'bun:test';
import { AttemptRunner } from '../../../src/delivery/queue/attempt-runner.ts';
import { ClaimReturns } from '../../../src/delivery/queue/claim-returns.ts';
import { LocalQueue } from '../../../src/delivery/queue/local-queue.ts';
import { SigningKeyCache } from '../../../src/delivery/signing-key-cache.ts';
import { createLogger } from '../../../src/log.ts';
import type { Claimed } from '../../../src/store/deliveries/claim/claimed.ts';
import type { AttemptRecord } from '../../../src/store/deliveries/record/attempt-log.ts';
import { TEST_BOX } from '../../support/api.ts';
import { acceptMany, claim, LEASE_MS, newReceiver, readDeliveries, ScriptedSender } from '../../support/deliveries.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

const TIMEOUT_MS = 15_000;
const log = createLogger('silent');

onSuiteEngine('an attempt', (store) => {
  /** A claimed delivery, and a runner whose monotonic clock can be moved on as if the process had been frozen. */
  async function scene() {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    const clock = { frozenMs: 0 };
    const [delivery] = await claim(store.db, entityId);
    if (delivery === undefined) throw new Error('nothing was claimed');
    const queue = new LocalQueue<Claimed>({
      ...{ slots: 4, queuePlaces: 4, bytes: 1_000_000, destinationCap: 4, sizeOf: () => 1 },
    });
    const sender = new ScriptedSender();
    const records: AttemptRecord[] = [];
    const returns = new ClaimReturns({ db: store.db, log, onReturned: () => undefined });
    const keys = new SigningKeyCache(store.db, TEST_BOX, false, undefined);
    const runner = new AttemptRunner({
      ...{ queue, log, returns, timeoutMs: TIMEOUT_MS },
      tools: { sender, keys, schedule: [0], bodySignatureHeader: undefined, nowMs: Date.now, random: () => 0.5 },
      onFinished: (record) => records.push(record),
      onShortage: () => undefined,
      onReleased: () => undefined,
      monotonicMs: () => performance.now() + clock.frozenMs,
    });
    const run = async () => {
      queue.reserve(delivery.destination);
      runner.enqueue([delivery]);
      await until('the attempt has ended', () => queue.inFlight === 0);
      await returns.finished();
    };
    return { entityId, clock, delivery, sender, records, run };
  }

  test('begins while its lease lasts longer than a request', async () => {
    const { clock, sender, records, run } = await scene();
    clock.frozenMs = LEASE_MS - TIMEOUT_MS - 5_000;
    await run();
    expect([sender.requests.length, records.length]).toEqual([1, 1]);
  });

  test('does not begin after a freeze beyond its lease, and its claim is returned as never sent', async () => {
    const { entityId, clock, sender, records, run } = await scene();
    clock.frozenMs = LEASE_MS - TIMEOUT_MS + 1;
    await run();
    expect([sender.requests.length, records.length]).toEqual([0, 0]);
    const [again] = await claim(store.db, entityId);
    expect([again?.attempts, again?.mayBeReceived, again?.token]).toEqual([0, false, 2]);
  });

  test('that does not begin leaves the claim of another instance alone', async () => {
    const { entityId, clock, delivery, sender, run } = await scene();
    delivery.token--;
    clock.frozenMs = 10 * LEASE_MS;
    await run();
    expect(sender.requests).toHaveLength(0);
    const [left] = await readDeliveries(store.db, entityId);
    expect(left?.leaseMs).toBeGreaterThan(0);
  });
});
