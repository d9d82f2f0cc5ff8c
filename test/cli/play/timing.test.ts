import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { SCENARIO_NAMES, scenarioLengthS, writeScenario } from '../../../src/cli/play/scenarios.ts';
import { sendTimesMs, startSecond } from '../../../src/cli/play/timing.ts';

const NOW_MS = 1_763_168_400_000;

function play(name: (typeof SCENARIO_NAMES)[number], speed: number) {
  const startS = startSecond(NOW_MS, scenarioLengthS(name, 3), speed);
  const random = (count: number) => new Uint8Array(count);
  const events = writeScenario(name, { networkId: 1, amount: '1', startS, random }, 3);
  return { events, times: sendTimesMs(events, NOW_MS, speed) };
}

const plays = fc.tuple(fc.constantFrom(...SCENARIO_NAMES), fc.integer({ min: 1, max: 100_000_000 }));

describe('a story that is played', () => {
  test('has its events sent in order, one after the other, beginning now', () => {
    fc.assert(
      fc.property(plays, ([name, speed]) => {
        const { times } = play(name, speed);
        expect(times[0]).toBe(NOW_MS);
        for (let index = 1; index < times.length; index++) {
          expect((times[index] ?? 0) - (times[index - 1] ?? 0)).toBeGreaterThanOrEqual(199);
        }
      }),
    );
  });

  test('dates no event later than the moment at which it is sent', () => {
    fc.assert(
      fc.property(plays, ([name, speed]) => {
        const { events, times } = play(name, speed);
        events.forEach(({ dateCreated }, index) => {
          expect(dateCreated * 1000).toBeLessThanOrEqual(times[index] ?? 0);
        });
      }),
    );
  });

  test('at real time begins now and lasts as long as it says', () => {
    const { events, times } = play('subscription', 1);
    expect(events[0]?.dateCreated).toBe(NOW_MS / 1000);
    expect(times.at(-1)).toBe((events.at(-1)?.dateCreated ?? 0) * 1000);
  });

  test('faster than life ends at the date of its last event', () => {
    const { events, times } = play('cancelled', 864_000);
    expect(Math.floor((times.at(-1) ?? 0) / 1000) - (events.at(-1)?.dateCreated ?? 0)).toBeLessThanOrEqual(1);
    expect((times.at(-1) ?? 0) - NOW_MS).toBeLessThan(10_000);
  });
});
