import { describe, expect, test } from 'bun:test';
import { Bell } from '../../../src/delivery/queue/wake-signal.ts';

const FOR_EVER_MS = 600_000;

describe('a bell', () => {
  test('wakes whoever waits', async () => {
    const bell = new Bell();
    const waiting = bell.wait(FOR_EVER_MS);
    bell.ring();
    await waiting;
  });

  test('that rang while nobody waited wakes the next one, once', async () => {
    const bell = new Bell();
    bell.ring();
    bell.ring();
    await bell.wait(FOR_EVER_MS);
    let woken = false;
    const waiting = bell.wait(FOR_EVER_MS).then(() => {
      woken = true;
    });
    await Bun.sleep(20);
    expect(woken).toBe(false);
    bell.ring();
    await waiting;
  });

  test('wakes by itself when the time is up', async () => {
    await new Bell().wait(5);
    await new Bell().wait(0);
    await new Bell().wait(-1);
  });

  test('lets everything else have its turn even when there is nothing to wait for', async () => {
    const bell = new Bell();
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    for (let round = 0; turns === 0 && round < 100_000; round++) {
      bell.ring();
      await bell.wait(FOR_EVER_MS);
    }
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0);
  });
});
