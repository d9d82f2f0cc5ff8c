import { expect, test } from 'bun:test';
import { PollLoop, waitAfterMs } from '../../../src/chain/follow/poll-loop.ts';
import type { PollResult } from '../../../src/chain/follow/poll-result.ts';
import { until } from '../../support/until.ts';

const RESULT: PollResult = {
  outcome: 'followed',
  ...{
    calls: 6,
    requests: 2,
    liveCalls: 6,
    liveRequests: 2,
    seen: 0,
    moved: 0,
    lost: 0,
    retracted: 0,
    again: 0,
    judged: 0,
  },
  ...{ omissions: 0, disagreements: 0, reorgDepth: 0, paused: 0, lagBlocks: 0, hasBackfill: false, blockTimeMs: 2_000 },
  network: null,
};

test.each([
  [{ blockTimeMs: 2_000 }, 2_000],
  [{ blockTimeMs: 250 }, 500],
  [{ blockTimeMs: 60_000 }, 12_000],
  [{ blockTimeMs: null }, 2_000],
  [{ lagBlocks: 50 }, 0],
  [{ outcome: 'behind' }, 1_000],
  [{ outcome: 'in_doubt', blockTimeMs: 600 }, 600],
  [{ outcome: 'failed' }, 3_000],
  [{ outcome: 'halted' }, 5_000],
  [{ outcome: 'idle' }, 2_000],
] as const)('after %p the next poll is due in %d ms', (result, waitMs) => {
  expect(waitAfterMs({ ...RESULT, ...result }, 3_000)).toBe(waitMs);
});

/** A loop in a time that only waits and polls let pass. */
function loopWith(poll: () => Promise<PollResult>, backfill = poll, options: { catchesUp?: boolean } = {}) {
  const waits: number[] = [];
  const errors: unknown[] = [];
  let nowMs = 0;
  const loop = new PollLoop({
    poll: () => {
      nowMs += 10;
      return poll();
    },
    backfill: () => {
      nowMs += 100;
      return backfill();
    },
    nodesWaitMs: () => 700,
    nowMs: () => nowMs,
    onError: (error) => errors.push(error),
    ...options,
    sleep: async (ms, signal) => {
      waits.push(ms);
      nowMs += ms;
      // The test stops the loop.
      if (waits.length >= 5) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  });
  return { loop, waits, errors };
}

test('polls follow each other at the pace of the network', async () => {
  const { loop, waits } = loopWith(async () => RESULT);
  loop.start();
  await until('five waits', () => waits.length === 5);
  await loop.stop();
  expect(waits).toEqual([1_990, 1_990, 1_990, 1_990, 1_990]);
});

test('a family that does not catch up keeps its pace while blocks are unread', async () => {
  const { loop, waits } = loopWith(async () => ({ ...RESULT, lagBlocks: 50 }), undefined, { catchesUp: false });
  loop.start();
  await until('five waits', () => waits.length === 5);
  await loop.stop();
  expect(waits).toEqual([1_990, 1_990, 1_990, 1_990, 1_990]);
});

test('older blocks are read while there is time until the next poll', async () => {
  let backfills = 0;
  const { loop, waits } = loopWith(
    async () => ({ ...RESULT, hasBackfill: backfills < 30 }),
    async () => ({ ...RESULT, hasBackfill: ++backfills < 30 }),
  );
  loop.start();
  await until('five waits', () => waits.length === 5);
  await loop.stop();
  expect(backfills).toBe(30);
});

test('a backfill that cannot ask does not keep the process busy', async () => {
  let backfills = 0;
  const { loop, waits } = loopWith(
    async () => ({ ...RESULT, hasBackfill: true }),
    async () => {
      backfills++;
      return { ...RESULT, hasBackfill: true, calls: 0 };
    },
  );
  loop.start();
  await until('five waits', () => waits.length === 5);
  await loop.stop();
  expect(backfills).toBe(5);
});

test('an error of the store is reported, and the next poll comes nevertheless', async () => {
  let polls = 0;
  const { loop, waits, errors } = loopWith(async () => {
    if (++polls === 1) throw new Error('disk full');
    return RESULT;
  });
  loop.start();
  await until('five waits', () => waits.length === 5);
  await loop.stop();
  expect(errors).toEqual([new Error('disk full')]);
  expect(polls).toBe(5);
});

test('stop ends a wait at once, and waits for the poll in progress', async () => {
  const gate = Promise.withResolvers<PollResult>();
  let isDone = false;
  const loop = new PollLoop({
    poll: () => gate.promise,
    backfill: () => gate.promise,
    nodesWaitMs: () => 0,
  });
  loop.start();
  const stopped = loop.stop().then(() => {
    isDone = true;
  });
  await Bun.sleep(1);
  expect(isDone).toBe(false);
  gate.resolve({ ...RESULT, blockTimeMs: 12_000 });
  await stopped;
  const waiting = new PollLoop({ poll: async () => RESULT, backfill: async () => RESULT, nodesWaitMs: () => 0 });
  waiting.start();
  await Bun.sleep(1);
  await waiting.stop();
});

test('a loop that was never started stops without a poll', async () => {
  let polls = 0;
  const poll = async () => {
    polls++;
    return RESULT;
  };
  await new PollLoop({ poll, backfill: poll, nodesWaitMs: () => 0 }).stop();
  expect(polls).toBe(0);
});
