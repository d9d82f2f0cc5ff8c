import { expect, test } from 'bun:test';
import { Teller } from '../../src/chain/teller.ts';

/** A teller of so many events, 10 at a time. */
function newTeller(events: number) {
  const state = { left: events, at: 0, most: 0, errors: 0 };
  const teller = new Teller(
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
  return { state, teller };
}

test('accepts until nothing is left, one acceptance at a time', async () => {
  const { state, teller } = newTeller(95);
  for (let wake = 0; wake < 5; wake++) teller.wake();
  while (state.left > 0) await Bun.sleep(1);
  expect(state.most).toBe(1);
});

test('looks again when it is woken while the last look finds nothing', async () => {
  const { state, teller } = newTeller(0);
  teller.wake();
  state.left = 5;
  teller.wake();
  while (state.left > 0) await Bun.sleep(1);
  expect(state.left).toBe(0);
});

test('looks again by itself, once, where something has to wait, and not after it has stopped', async () => {
  let calls = 0;
  const teller: Teller = new Teller(
    () => {
      if (++calls <= 2) teller.wakeSoon();
      return Promise.resolve(calls === 1 ? 1 : 0);
    },
    () => undefined,
  );
  teller.wake();
  while (calls < 3) await Bun.sleep(1);
  await Bun.sleep(300);
  expect(calls).toBe(3);
  teller.wakeSoon();
  await teller.stop();
  await Bun.sleep(300);
  expect(calls).toBe(3);
});

test('stops after the acceptance in progress', async () => {
  const { state, teller } = newTeller(1_000);
  teller.wake();
  await teller.stop();
  expect([state.left, state.at]).toEqual([990, 0]);
  teller.wake();
  await teller.stop();
  expect(state.left).toBe(990);
});

test('says what failed, and goes on when it is woken again', async () => {
  const errors: unknown[] = [];
  let calls = 0;
  const teller = new Teller(
    () => (++calls === 1 ? Promise.reject(new Error('no store')) : Promise.resolve(0)),
    (error) => errors.push(error),
  );
  teller.wake();
  await Bun.sleep(1);
  teller.wake();
  await teller.stop();
  expect([calls, errors]).toEqual([2, [new Error('no store')]]);
});
