import { describe, expect, test } from 'bun:test';
import {
  ATTEMPT_ERRORS,
  ATTEMPT_KINDS,
  type AttemptInput,
  DELIVERY_STATUSES,
  decideNext,
  isOwnFailure,
  isSuccess,
  showsDestinationUnhealthy,
} from '../../src/domain/attempt.ts';
import { failedWith, respondedWith } from '../support/deliveries.ts';

const NOW_MS = Date.UTC(2026, 9, 21, 7, 28, 0);
const HOUR_MS = 3_600_000;
const SCHEDULE = [0, 5_000, 300_000];

function nextState(given: Partial<AttemptInput>) {
  return decideNext({
    outcome: respondedWith(500),
    kind: 'first',
    status: 'pending',
    steps: 0,
    schedule: SCHEDULE,
    nowMs: NOW_MS,
    random: () => 0.5,
    ...given,
  });
}

describe('a delivery', () => {
  test.each([200, 201, 202, 204, 299])('is delivered by a %d, with no further attempt', (statusCode) => {
    expect(nextState({ outcome: respondedWith(statusCode) })).toEqual({
      status: 'delivered',
      steps: 1,
      delayMs: null,
      suspend: null,
    });
  });

  test.each([100, 199, 300, 301, 302, 307, 304, 400, 401, 404, 429, 500, 503, 599])(
    'is retried after a %d',
    (statusCode) => {
      expect(nextState({ outcome: respondedWith(statusCode) })).toEqual({
        status: 'retrying',
        steps: 1,
        delayMs: 5_000,
        suspend: null,
      });
    },
  );

  test.each(ATTEMPT_ERRORS.filter((error) => error !== 'unprocessable'))('is retried after %s', (error) => {
    expect(nextState({ outcome: failedWith(error) })).toMatchObject({ status: 'retrying', delayMs: 5_000 });
  });

  test('waits one step of the schedule after another, and fails after the last', () => {
    const walk = [0, 1, 2, 3].map((steps) => nextState({ steps, status: steps === 0 ? 'pending' : 'retrying' }));
    expect(walk.map(({ status, delayMs, steps }) => [status, delayMs, steps])).toEqual([
      ['retrying', 5_000, 1],
      ['retrying', 300_000, 2],
      ['failed', null, 3],
      ['failed', null, 4],
    ]);
  });

  test('fails at once when the schedule has one step', () => {
    expect(nextState({ schedule: [0] })).toMatchObject({ status: 'failed', delayMs: null });
  });

  test('spreads its waits by 20 % to either side', () => {
    expect(nextState({ random: () => 0 }).delayMs).toBe(4_000);
    expect(nextState({ random: () => 0.999999 }).delayMs).toBe(6_000);
  });

  test('waits as long as retry-after asks, when that is longer and not more than a day', () => {
    const delay = (retryAfter: string) => nextState({ outcome: respondedWith(503, { retryAfter }) }).delayMs;
    expect(delay('60')).toBe(60_000);
    expect(delay('1')).toBe(5_000);
    expect(delay('Wed, 21 Oct 2026 08:28:00 GMT')).toBe(HOUR_MS);
    expect(delay('864000')).toBe(24 * HOUR_MS);
    expect(delay('whenever')).toBe(5_000);
  });

  test('gets no further attempt from retry-after at the end of the schedule', () => {
    const outcome = respondedWith(503, { retryAfter: '60' });
    expect(nextState({ outcome, steps: 2 })).toMatchObject({ status: 'failed', delayMs: null });
  });

  test('with a 410 suspends its webhook and stays on the schedule, so that it can be held', () => {
    expect(nextState({ outcome: respondedWith(410) })).toEqual({
      status: 'retrying',
      steps: 1,
      delayMs: 5_000,
      suspend: 'gone',
    });
  });

  test('that cannot be processed fails at once', () => {
    expect(nextState({ outcome: failedWith('unprocessable') })).toEqual({
      status: 'failed',
      steps: 1,
      delayMs: null,
      suspend: null,
    });
  });
});

describe('a redelivery', () => {
  test.each(DELIVERY_STATUSES)('that succeeds makes a %s delivery delivered and uses up no step', (status) => {
    const next = nextState({ kind: 'redelivery', status, steps: 2, outcome: respondedWith(200) });
    expect(next).toEqual({ status: 'delivered', steps: 2, delayMs: null, suspend: null });
  });

  test.each(DELIVERY_STATUSES)('that fails leaves a %s delivery as it was', (status) => {
    for (const outcome of [respondedWith(500), failedWith('timeout'), failedWith('unprocessable')]) {
      const next = nextState({ kind: 'redelivery', status, steps: 2, outcome });
      expect(next).toEqual({ status, steps: 2, delayMs: null, suspend: null });
    }
  });

  test('with a 410 suspends the webhook too', () => {
    const next = nextState({ kind: 'redelivery', status: 'delivered', outcome: respondedWith(410) });
    expect(next).toMatchObject({ status: 'delivered', suspend: 'gone' });
  });
});

test('every kind of attempt except a redelivery uses up a step', () => {
  for (const kind of ATTEMPT_KINDS) expect(nextState({ kind }).steps).toBe(kind === 'redelivery' ? 0 : 1);
});

test('only a 2xx response is a success', () => {
  const codes = [199, 200, 204, 299, 300, 304, 410, 500];
  expect(codes.filter((code) => isSuccess(respondedWith(code)))).toEqual([200, 204, 299]);
  expect(ATTEMPT_ERRORS.filter((error) => isSuccess(failedWith(error)))).toEqual([]);
});

test('a destination is unhealthy when it times out, refuses, or says that it is overloaded or down, and only then', () => {
  const codes = [200, 301, 400, 404, 408, 410, 429, 500, 501, 502, 503, 504];
  expect(codes.filter((code) => showsDestinationUnhealthy(respondedWith(code)))).toEqual([429, 502, 503, 504]);
  const unhealthy = ATTEMPT_ERRORS.filter((error) => showsDestinationUnhealthy(failedWith(error)));
  expect(unhealthy).toEqual(['timeout', 'refused', 'unreachable']);
});

test('the proxy and the source address are our own failures: they say nothing about the receiver, and are retried', () => {
  const own = ATTEMPT_ERRORS.filter((error) => isOwnFailure(failedWith(error)));
  expect(own).toEqual([
    'proxy_unreachable',
    'proxy_timeout',
    'proxy_credentials',
    'proxy_refused',
    'proxy_bad_response',
    'source_address',
  ]);
  for (const error of own) expect(nextState({ outcome: failedWith(error) })).toMatchObject({ status: 'retrying' });
  expect(isOwnFailure(respondedWith(407))).toBe(false);
});
