import { ENGINES } from '../test/support/stores.ts';
import type { Fault } from './fault.ts';
import { Scene } from './scene.ts';
import { SteppedClock } from './stepped-clock.ts';
import { mustComeTrue } from './waiting.ts';

const TEN_MINUTES_MS = 600_000;
/** Ten minutes ahead, back, ten minutes behind, and right again: a step in each direction, twice. */
const STEPS = [TEN_MINUTES_MS, 0, -TEN_MINUTES_MS, 0];

/** The service looks at its clock once a second: a jump that is taken back before the next look is not tried here. */
const UNTIL_SEEN_MS = 4_000;

export const clockStepped: Fault = {
  name: 'clock-stepped',
  what: 'the clocks of the service and of its database jump forward and back by ten minutes, under load',
  engines: ENGINES,
  tries: { long: 5, short: 1 },
  run: async (trial) => {
    // Slower than events come in, so that some wait and some are on their way when the clock jumps.
    const reply = async () => {
      await Bun.sleep(10);
      return new Response('ok');
    };
    await using scene = await Scene.open(trial, { reply, settings: { DESTINATION_CONCURRENCY: '4' } });
    const clock = await SteppedClock.of(scene);
    const { client, served } = await scene.start(clock.settings);
    let steppedAtMs = Number.NEGATIVE_INFINITY;
    for (let round = 1; round <= trial.tries; round++) {
      for (const stepMs of trial.hurry ? STEPS.slice(0, 2) : STEPS) {
        trial.note(`clock ${round} of ${trial.tries}: off by ${stepMs / 60_000} min`);
        await Bun.sleep(Math.max(0, steppedAtMs + UNTIL_SEEN_MS - performance.now()));
        const load = scene.load([client], { atATime: 8, most: 80 });
        await mustComeTrue('events are accepted', () => load.acknowledged.size >= 40);
        await clock.setTo(stepMs);
        steppedAtMs = performance.now();
        await load.ended;
        if (load.acknowledged.size < 80) scene.broken.push('events were refused when the clock had jumped');
        await scene.recover(steppedAtMs);
      }
    }
    if (served.child.exitCode !== null) scene.broken.push('the service ended');
    return await scene.finding();
  },
};
