import { ENGINES } from '../../test/support/stores.ts';
import type { Fault } from '../fault.ts';
import { SteppedClock } from '../harness/stepped-clock.ts';
import { Testbed } from '../harness/testbed.ts';
import { waitUntil } from '../harness/waiting.ts';

const TEN_MINUTES_MS = 600_000;
/** Ten minutes ahead, correct, ten minutes behind, correct: two steps in each direction. */
const STEPS = [TEN_MINUTES_MS, 0, -TEN_MINUTES_MS, 0];

/** The service checks its clock once a second. A step lasts longer than that, so that it is noticed. */
const STEP_LASTS_MS = 4_000;

export const clockStepped: Fault = {
  name: 'clock-stepped',
  what: 'the clocks of the service and of its database jump forward and back by ten minutes, under load',
  engines: ENGINES,
  trials: { long: 5, short: 1 },
  run: async (options) => {
    // Slower than events are accepted, so that some are queued and some in flight when the clock steps.
    const reply = async () => {
      await Bun.sleep(10);
      return new Response('ok');
    };
    await using testbed = await Testbed.open(options, { reply, settings: { DESTINATION_CONCURRENCY: '4' } });
    const clock = await SteppedClock.of(testbed);
    const { client, served } = await testbed.start(clock.settings);
    let steppedAtMs = Number.NEGATIVE_INFINITY;
    for (let round = 1; round <= options.trials; round++) {
      for (const stepMs of options.fast ? STEPS.slice(0, 2) : STEPS) {
        options.progress(`clock ${round} of ${options.trials}: ahead by ${stepMs / 60_000} min`);
        await Bun.sleep(Math.max(0, steppedAtMs + STEP_LASTS_MS - performance.now()));
        const load = testbed.load([client], { concurrency: 8, most: 80 });
        await waitUntil('events are accepted', () => load.acknowledged.size >= 40);
        await clock.setTo(stepMs);
        steppedAtMs = performance.now();
        await load.ended;
        if (load.acknowledged.size < 80) testbed.violations.push('events were rejected after the clock had stepped');
        await testbed.recover(steppedAtMs);
      }
    }
    if (served.child.exitCode !== null) testbed.violations.push('the service exited');
    return await testbed.finding();
  },
};
