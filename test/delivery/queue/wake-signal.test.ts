import { describe, expect, test } from 'bun:test';
import { WakeSignal } from '../../../src/delivery/queue/wake-signal.ts';

const FOR_EVER_MS = 600_000;

describe('a bell', () => {
  test('wakes whoever waits', async () => {
    const bell = new WakeSignal();
    const waiting = bell.wait(FOR_EVER_MS);
    bell.ring();
    await waiting;
  });

  test('that rang while nobody waited wakes the next one, once', async () => {
    const bell = new WakeSignal();
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
    await new WakeSignal().wait(5);
    await new WakeSignal().wait(0);
    await new WakeSignal().wait(-1);
  });

  test('lets everything else have its turn even when there is nothing to wait for', async () => {
    const bell = new WakeSignal();
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
