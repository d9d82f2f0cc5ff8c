import type { Fault } from './fault.ts';
import { killAtOnce, Scene } from './scene.ts';
import { mustComeTrue } from './waiting.ts';

/** Two instances share the work of one PostgreSQL; one is killed, and the other takes over what it held. */
export const oneOfTwoKilled: Fault = {
  name: 'one-of-two',
  what: 'one of two instances is killed under load: both deliver, but never the same delivery at the same time',
  engines: ['postgres'],
  tries: { long: 5, short: 1 },
  run: async (trial) => {
    await using scene = await Scene.open(trial);
    const flying = new Set<string>();
    let together = 0;
    scene.ledger.reply = async ({ deliveryId }) => {
      if (flying.has(deliveryId)) together++;
      flying.add(deliveryId);
      await Bun.sleep(3);
      flying.delete(deliveryId);
      return new Response('ok');
    };
    // The name of a header tells who has posted.
    const survivor = await scene.start({ BODY_SIGNATURE_HEADER: 'x-from-survivor' });
    for (let round = 1; round <= trial.tries; round++) {
      trial.note(`kill ${round} of ${trial.tries}`);
      const victim = await scene.start({ BODY_SIGNATURE_HEADER: 'x-from-victim' });
      const begun = scene.ledger.posts.length;
      const posted = (name: string) => scene.ledger.posts.slice(begun).filter(({ headers }) => name in headers).length;
      const load = scene.load([survivor.client, victim.client], { restMs: 5 });
      await mustComeTrue('both have a part', () => posted('x-from-survivor') >= 50 && posted('x-from-victim') >= 50);
      await killAtOnce(victim);
      const killedAtMs = performance.now();
      await load.stop();
      await scene.letLeasesRunOut();
      await scene.recover(killedAtMs);
    }
    if (together > 0) scene.broken.push(`${together} deliveries were posted by both at the same time`);
    return await scene.finding();
  },
};
