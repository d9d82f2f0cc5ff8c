import { describe, expect, test } from 'bun:test';
import { type AttemptResult, DestinationHealth } from '../../../src/delivery/queue/destination-health.ts';

const CAP = 16;

function healthAfter(results: readonly AttemptResult[], durationMs = 1_000): DestinationHealth {
  const health = new DestinationHealth({ cap: CAP });
  for (const result of results) health.note(result, durationMs, 0);
  return health;
}

const times = (result: AttemptResult, count: number) => Array<AttemptResult>(count).fill(result);

describe('the window of a destination', () => {
  test('is one attempt at first, and twice as many after each success, up to the cap', () => {
    const windows = [0, 1, 2, 3, 4, 5, 6].map((count) => healthAfter(times('success', count)).window);
    expect(windows).toEqual([1, 2, 4, 8, 16, 16, 16]);
  });

  test('never passes a cap that is no power of two', () => {
    const health = new DestinationHealth({ cap: 5 });
    for (let count = 0; count < 4; count++) health.note('success', 1, 0);
    expect(health.window).toBe(5);
  });

  test('falls with the cap at once, and is as wide as before when the cap rises again', () => {
    const limit = { cap: CAP };
    const health = new DestinationHealth(limit);
    for (let count = 0; count < 4; count++) health.note('success', 1_000, 0);
    limit.cap = 6;
    expect(health.window).toBe(6);
    limit.cap = CAP;
    expect(health.window).toBe(CAP);
  });

  test('is one attempt again after a failure, and grows as before', () => {
    expect(healthAfter([...times('success', 5), 'unhealthy']).window).toBe(1);
    expect(healthAfter([...times('success', 5), 'unhealthy', 'success', 'success']).window).toBe(4);
  });

  test('is one attempt again after ten idle seconds, and stays as it was for less', () => {
    const health = healthAfter(times('success', 5));
    health.resume(10_000);
    expect(health.window).toBe(CAP);
    health.resume(10_001);
    expect(health.window).toBe(1);
  });

  test('is not changed by a response that concerns a single request', () => {
    expect(healthAfter(times('other', 50)).window).toBe(1);
    expect(healthAfter([...times('success', 2), ...times('other', 50)]).window).toBe(4);
  });
});

describe('the health class of a destination', () => {
  test.each<[AttemptResult[], string]>([
    [[], 'untried'],
    [['other', 'other'], 'untried'],
    [['success'], 'proven'],
    [['success', 'other'], 'proven'],
    [['success', 'unhealthy'], 'failing'],
    [['unhealthy', 'other'], 'failing'],
    [['unhealthy', 'success'], 'proven'],
  ])('after %j is %s', (results, healthClass) => {
    expect(healthAfter(results).class).toBe(healthClass as never);
  });
});

describe('the breaker of a destination', () => {
  test('opens at the fifth failure in a row, and one success closes it', () => {
    expect(healthAfter(times('unhealthy', 4)).isBreakerOpen).toBe(false);
    expect(healthAfter(times('unhealthy', 5)).isBreakerOpen).toBe(true);
    expect(healthAfter([...times('unhealthy', 5), ...times('other', 50)]).isBreakerOpen).toBe(true);
    expect(healthAfter([...times('unhealthy', 9), 'success']).isBreakerOpen).toBe(false);
  });

  test('counts from zero again after a success', () => {
    const results = [...times('unhealthy', 4), 'success' as const, ...times('unhealthy', 4)];
    expect(healthAfter(results).isBreakerOpen).toBe(false);
  });
});

describe('the queue that a destination may hold here', () => {
  test('is what it completes in a tenth of a second, and thirty-one caps at most', () => {
    const perDuration = [1, 20, 50, 100, 1_000, 10_000].map((durationMs) => [
      durationMs,
      healthAfter(times('success', 9), durationMs).maxQueued,
    ]);
    expect(perDuration).toEqual([
      [1, 496],
      [20, 80],
      [50, 32],
      [100, 16],
      [1_000, 1],
      [10_000, 0],
    ]);
  });

  test('is shorter while its window still grows', () => {
    const queued = (count: number, durationMs: number) => healthAfter(times('success', count), durationMs).maxQueued;
    expect([queued(1, 5), queued(2, 5), queued(4, 5)]).toEqual([272, 288, 320]);
    expect([queued(1, 50), queued(2, 50), queued(4, 50)]).toEqual([4, 8, 32]);
  });

  test('becomes short as soon as it becomes slow', () => {
    const health = healthAfter(times('success', 9), 1);
    for (let slow = 0; slow < 3; slow++) health.note('success', 1_000, 0);
    expect(health.maxQueued).toBeLessThan(4);
  });

  test('is none before the first success and after a failure', () => {
    expect(healthAfter([]).maxQueued).toBe(0);
    expect(healthAfter([...times('success', 9), 'unhealthy'], 1).maxQueued).toBe(0);
  });
});
