import { expect, test } from 'bun:test';
import { DeliveryMetrics } from '../../src/delivery/delivery-metrics.ts';
import type { DeliveryStatus, Outcome } from '../../src/domain/attempt.ts';
import { destinationKey } from '../../src/domain/post-url.ts';
import { Metrics } from '../../src/metrics/paybell-metrics.ts';
import type { AttemptRecord } from '../../src/store/deliveries/record/attempt-log.ts';
import type { StatsRecorder } from '../../src/store/stats/recorder.ts';
import { failedWith, respondedWith } from '../support/deliveries.ts';

/** What each attempt is counted as in the figures of the entity. */
function countedAs(webhookNo: number, before: DeliveryStatus, outcome: Outcome, after: DeliveryStatus): string[] {
  const counted: string[] = [];
  const noting = (name: string) => () => void counted.push(name);
  const stats: Partial<StatsRecorder> = {
    delivered: noting('delivered'),
    failed: noting('failed'),
    failedAttempt: noting('failed attempt'),
    deliveredAgain: noting('delivered again'),
  };
  const destination = destinationKey('ent_1', 'https://example.com/');
  const delivery = { webhookNo, destination, kind: 'first', status: before, acceptedAtMs: 0 };
  const next = { status: after, steps: 1, delayMs: null, suspend: null };
  const record = { delivery, startedAtMs: 0, outcome, next } as unknown as AttemptRecord;
  new DeliveryMetrics(new Metrics(), stats as StatsRecorder).note(record);
  return counted;
}

test.each([
  ['pending', respondedWith(200), 'delivered', ['delivered']],
  ['retrying', respondedWith(200), 'delivered', ['delivered']],
  ['pending', respondedWith(500), 'retrying', ['failed attempt']],
  ['retrying', respondedWith(500), 'retrying', ['failed attempt']],
  ['retrying', failedWith('timeout'), 'failed', ['failed attempt', 'failed']],
  ['delivered', respondedWith(200), 'delivered', ['delivered again']],
  ['delivered', respondedWith(500), 'delivered', ['failed attempt']],
  ['failed', failedWith('refused'), 'failed', ['failed attempt']],
] as const)(
  'an attempt of a delivery that is %s, with its outcome, is counted once',
  (before, outcome, after, counted) => {
    expect(countedAs(1, before, outcome, after)).toEqual([...counted]);
    // Alerts are not part of the traffic of an entity.
    expect(countedAs(-1, before, outcome, after)).toEqual([]);
  },
);
