import { describe, expect, test } from 'bun:test';
import { sleep, startDeadline } from '../../src/client/deadline.ts';

const AN_HOUR_MS = 3_600_000;

describe('a deadline', () => {
  test('aborts with the reason of a signal that aborts later', () => {
    const caller = new AbortController();
    const deadline = startDeadline(AN_HOUR_MS, caller.signal);
    expect(deadline.signal.aborted).toBe(false);
    caller.abort('gone');
    expect([deadline.signal.aborted, deadline.signal.reason]).toEqual([true, 'gone']);
    deadline.clear();
  });

  test('is aborted from the start if the signal is aborted already', () => {
    const deadline = startDeadline(AN_HOUR_MS, AbortSignal.abort('gone'));
    expect([deadline.signal.aborted, deadline.signal.reason]).toEqual([true, 'gone']);
    deadline.clear();
  });

  test('forgets the signal once it is cleared', () => {
    const caller = new AbortController();
    const deadline = startDeadline(AN_HOUR_MS, caller.signal);
    deadline.clear();
    caller.abort('gone');
    expect(deadline.signal.aborted).toBe(false);
  });
});

describe('a sleep of an hour', () => {
  /** Whether the sleep ends while the test waits for nothing else. */
  async function ends(signal: AbortSignal, abort: () => void = () => undefined): Promise<boolean> {
    let isOver = false;
    void sleep(AN_HOUR_MS, signal).then(() => {
      isOver = true;
    });
    abort();
    await Bun.sleep(1);
    return isOver;
  }

  test('ends when its signal aborts', async () => {
    const caller = new AbortController();
    expect(await ends(caller.signal, () => caller.abort())).toBe(true);
  });

  test('does not begin if its signal is aborted already', async () => {
    expect(await ends(AbortSignal.abort())).toBe(true);
  });
});
