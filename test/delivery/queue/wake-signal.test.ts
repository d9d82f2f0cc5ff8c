import { describe, expect, test } from 'bun:test';
import { WakeSignal } from '../../../src/delivery/queue/wake-signal.ts';

const FOR_EVER_MS = 600_000;

describe('a wake signal', () => {
  test('ends the wait', async () => {
    const signal = new WakeSignal();
    const waiting = signal.wait(FOR_EVER_MS);
    signal.wake();
    // Without the wake-up, the time limit of the test comes first.
    await waiting;
  });

  test('that came while nothing waited ends the next wait, once', async () => {
    const signal = new WakeSignal();
    signal.wake();
    signal.wake();
    await signal.wait(FOR_EVER_MS);
    let woken = false;
    const waiting = signal.wait(FOR_EVER_MS).then(() => {
      woken = true;
    });
    await Bun.sleep(20);
    expect(woken).toBe(false);
    signal.wake();
    await waiting;
  });

  test('ends the wait when the time is up', async () => {
    // A wait that does not end exceeds the time limit of the test.
    await new WakeSignal().wait(5);
    await new WakeSignal().wait(0);
    await new WakeSignal().wait(-1);
  });

  test('lets everything else run even when there is nothing to wait for', async () => {
    const signal = new WakeSignal();
    let ticks = 0;
    const timer = setInterval(() => ticks++, 0);
    for (let round = 0; ticks === 0 && round < 100_000; round++) {
      signal.wake();
      await signal.wait(FOR_EVER_MS);
    }
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(0);
  });
});
