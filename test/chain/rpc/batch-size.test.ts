import { describe, expect, test } from 'bun:test';
import { BatchSize } from '../../../src/chain/rpc/batch-size.ts';

const DAY_MS = 86_400_000;

function newSize(atMs = 1_000) {
  const clock = { ms: atMs };
  const size = new BatchSize(() => clock.ms);
  const refuse = (calls: number, times = 3) => {
    for (let time = 0; time < times; time++) size.noteRefusal(calls);
  };
  const succeed = (calls: number, times = 1) => {
    for (let time = 0; time < times; time++) size.noteSuccess(calls);
  };
  return { size, clock, refuse, succeed };
}

describe('the size of a batch', () => {
  test('falls with the third refusal, to the next step below the batch that was refused', () => {
    const { size, refuse } = newSize();
    expect(size.size).toBe(100);
    refuse(80, 2);
    expect(size.size).toBe(100);
    refuse(80, 1);
    expect(size.size).toBe(10);
    refuse(5);
    expect(size.size).toBe(3);
    refuse(2);
    expect(size.size).toBe(1);
  });

  test('does not fall with refusals between which batches of that size succeed', () => {
    const { size, refuse, succeed } = newSize();
    for (let time = 0; time < 20; time++) {
      refuse(5, 2);
      succeed(5);
    }
    expect(size.size).toBe(100);
  });

  test('falls if only smaller batches succeed in between', () => {
    const { size, refuse, succeed } = newSize();
    for (let time = 0; time < 3; time++) {
      refuse(5, 1);
      succeed(3);
    }
    expect(size.size).toBe(3);
  });

  test('rises by one step after 50 good requests', () => {
    const { size, refuse, succeed } = newSize();
    refuse(2);
    succeed(1, 49);
    expect(size.size).toBe(1);
    succeed(1);
    expect(size.size).toBe(3);
    succeed(3, 50);
    expect(size.size).toBe(10);
    succeed(5, 50);
    expect(size.size).toBe(100);
    expect(size.limit).toBeNull();
  });

  test('stays for a day once the larger size was refused again', () => {
    const { size, clock, refuse, succeed } = newSize();
    refuse(2);
    succeed(1, 50);
    refuse(3);
    expect(size.limit).toEqual({ size: 1, untilMs: clock.ms + DAY_MS });
    succeed(1, 1_000);
    expect(size.size).toBe(1);
    clock.ms += DAY_MS;
    succeed(1);
    expect(size.size).toBe(3);
  });

  test('rises again the same day after refusals of a size that had succeeded', () => {
    const { size, refuse, succeed } = newSize();
    refuse(2);
    succeed(1, 50);
    succeed(3, 50);
    refuse(3);
    expect(size.limit).toEqual({ size: 1, untilMs: null });
    succeed(1, 50);
    expect(size.size).toBe(3);
  });

  test('is known after a restart, for the rest of the day', () => {
    const { size, succeed } = newSize(5_000);
    size.restore({ size: 3, untilMs: 5_001 });
    expect(size.size).toBe(3);
    succeed(3, 100);
    expect(size.size).toBe(3);
    const later = newSize(5_001);
    later.size.restore({ size: 3, untilMs: 5_001 });
    expect(later.size.size).toBe(100);
    const backwards = newSize(5_000);
    backwards.size.restore({ size: 3, untilMs: 5_000 + 3 * DAY_MS });
    expect(backwards.size.limit?.untilMs).toBe(5_000 + DAY_MS);
  });

  test('of another version, or one that this process knows, is not restored', () => {
    const { size, refuse } = newSize();
    size.restore({ size: 7, untilMs: null });
    expect(size.size).toBe(100);
    refuse(2);
    size.restore({ size: 10, untilMs: null });
    expect(size.size).toBe(1);
  });
});
