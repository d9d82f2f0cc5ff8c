import { expect, test } from 'bun:test';
import { CallMeter } from '../../../src/chain/rpc/call-meter.ts';
import { callsInLastHour } from '../../../src/domain/chain/call-minutes.ts';

const MINUTE_MS = 60_000;

function meterAt(startMs: number) {
  const clock = { ms: startMs };
  const meter = new CallMeter(() => clock.ms);
  return { clock, meter, calls: () => callsInLastHour(meter.minutes, clock.ms) };
}

test('counts the calls of the last hour and forgets older ones', () => {
  const { clock, meter, calls } = meterAt(10 * MINUTE_MS);
  meter.note(3);
  meter.note(2);
  clock.ms += 59 * MINUTE_MS;
  meter.note(4);
  expect(calls()).toBe(9);
  clock.ms += MINUTE_MS;
  expect(calls()).toBe(4);
  expect(meter.minutes).toEqual([{ minute: 69, calls: 4 }]);
});

test('keeps at most 60 minutes', () => {
  const { clock, meter, calls } = meterAt(0);
  for (let minute = 0; minute < 200; minute++, clock.ms += MINUTE_MS) {
    meter.note(1);
    expect(meter.minutes.length).toBeLessThanOrEqual(60);
  }
  clock.ms -= MINUTE_MS;
  expect(calls()).toBe(60);
});

test('continues the count of the last process, and counts a minute of both once', () => {
  const before = meterAt(5 * MINUTE_MS);
  before.meter.note(7);
  const after = meterAt(5 * MINUTE_MS);
  after.meter.note(2);
  after.meter.restore(before.meter.minutes);
  after.meter.restore(before.meter.minutes);
  expect(after.calls()).toBe(7);
});

test('leaves out minutes of the future after the clock was set back', () => {
  const { clock, meter, calls } = meterAt(100 * MINUTE_MS);
  meter.note(9);
  clock.ms = 50 * MINUTE_MS;
  meter.note(1);
  expect(calls()).toBe(1);
});
