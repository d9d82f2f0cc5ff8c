import { expect, test } from 'bun:test';
import { FactEventPublisher } from '../../src/chain/fact-event-publisher.ts';

/** A publisher of so many events, 10 at a time. */
function newPublisher(events: number) {
  const state = { left: events, at: 0, most: 0, errors: 0 };
  const publisher = new FactEventPublisher(
    async () => {
      state.most = Math.max(state.most, ++state.at);
      await Bun.sleep(0);
      state.at--;
      const some = Math.min(10, state.left);
      state.left -= some;
      return some;
    },
    () => state.errors++,
  );
  return { state, publisher };
}

test('accepts until nothing is left, one acceptance at a time', async () => {
  const { state, publisher } = newPublisher(95);
  for (let wake = 0; wake < 5; wake++) publisher.wake();
  while (state.left > 0) await Bun.sleep(1);
  expect(state.most).toBe(1);
});

test('looks again when it is woken while the last look finds nothing', async () => {
  const { state, publisher } = newPublisher(0);
  publisher.wake();
  state.left = 5;
  publisher.wake();
  while (state.left > 0) await Bun.sleep(1);
  expect(state.left).toBe(0);
});

test('looks again by itself, once, where something has to wait, and not after it has stopped', async () => {
  let calls = 0;
  const publisher: FactEventPublisher = new FactEventPublisher(
    () => {
      if (++calls <= 2) publisher.wakeSoon();
      return Promise.resolve(calls === 1 ? 1 : 0);
    },
    () => undefined,
  );
  publisher.wake();
  while (calls < 3) await Bun.sleep(1);
  await Bun.sleep(300);
  expect(calls).toBe(3);
  publisher.wakeSoon();
  await publisher.stop();
  await Bun.sleep(300);
  expect(calls).toBe(3);
});

test('stops after the acceptance in progress', async () => {
  const { state, publisher } = newPublisher(1_000);
  publisher.wake();
  await publisher.stop();
  expect([state.left, state.at]).toEqual([990, 0]);
  publisher.wake();
  await publisher.stop();
  expect(state.left).toBe(990);
});

test('says what failed, and goes on when it is woken again', async () => {
  const errors: unknown[] = [];
  let calls = 0;
  const publisher = new FactEventPublisher(
    () => (++calls === 1 ? Promise.reject(new Error('no store')) : Promise.resolve(0)),
    (error) => errors.push(error),
  );
  publisher.wake();
  await Bun.sleep(1);
  publisher.wake();
  await publisher.stop();
  expect([calls, errors]).toEqual([2, [new Error('no store')]]);
});
