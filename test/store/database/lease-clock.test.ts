import { expect, test } from 'bun:test';
import { LeaseClock } from '../../../src/store/database/lease-clock.ts';

const LEASE_MS = 30_000;
const HOUR_MS = 3_600_000;
const EPOCH_MS = 1_700_000_000_000;

/** A database whose clock can be set, and a process that reads it. */
function watched() {
  let [elapsedMs, stepMs] = [0, 0];
  const clock = new LeaseClock(() => elapsedMs);
  const nowMs = () => EPOCH_MS + elapsedMs + stepMs;
  return {
    clock,
    step: (byMs: number) => {
      stepMs += byMs;
    },
    pass: (ms: number) => {
      elapsedMs += ms;
    },
    /** What is read took so long to arrive. */
    read: (answeredAfterMs = 0) => {
      const readMs = nowMs();
      elapsedMs += answeredAfterMs;
      clock.note(readMs);
    },
    endedBy: () => clock.endedBy(nowMs()) - EPOCH_MS,
  };
}

test('leases end by the clock of the database until they have a length', () => {
  const { read, step, endedBy } = watched();
  read();
  step(HOUR_MS);
  read();
  expect(endedBy()).toBe(HOUR_MS);
});

test('a step forward ends no lease early', () => {
  const { clock, read, step, pass, endedBy } = watched();
  clock.guard(LEASE_MS);
  read();
  step(HOUR_MS);
  for (let second = 1; second <= LEASE_MS / 1_000; second++) {
    pass(1_000);
    read();
    expect(endedBy()).toBe(second * 1_000);
  }
});

test('one lease length after a step forward, leases end by the clock of the database', () => {
  const { clock, read, step, pass, endedBy } = watched();
  clock.guard(LEASE_MS);
  read();
  step(HOUR_MS);
  for (let second = 0; second <= LEASE_MS / 1_000 + 2; second++) {
    read();
    pass(1_000);
  }
  expect(endedBy()).toBe(HOUR_MS + LEASE_MS + 3_000);
});

test('an instance that has not read the clock for long does not take a step for time that passed', () => {
  const { clock, read, step, pass, endedBy } = watched();
  clock.guard(LEASE_MS);
  read();
  pass(10 * LEASE_MS);
  step(HOUR_MS);
  read();
  expect(endedBy()).toBe(10 * LEASE_MS);
});

test('a step back counts at once', () => {
  const { clock, read, step, endedBy } = watched();
  clock.guard(LEASE_MS);
  read();
  step(-HOUR_MS);
  read();
  expect(endedBy()).toBe(-HOUR_MS);
});

test('a slow answer delays the end of leases by as much, for one lease length', () => {
  const { clock, read, pass, endedBy } = watched();
  clock.guard(LEASE_MS);
  read(2_000);
  expect(endedBy()).toBe(0);
  for (let second = 0; second <= LEASE_MS / 1_000 + 2; second++) {
    pass(1_000);
    read();
  }
  expect(endedBy()).toBe(LEASE_MS + 5_000);
});
