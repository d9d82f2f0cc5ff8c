import type { Fault } from '../fault.ts';
import { kill, Testbed } from '../harness/testbed.ts';
import { waitUntil } from '../harness/waiting.ts';

/** Two instances deliver from one PostgreSQL; one is killed, and the other claims its deliveries. */
export const oneOfTwoKilled: Fault = {
  name: 'one-of-two',
  what: 'one of two instances is killed under load: both deliver, but never the same delivery at the same time',
  engines: ['postgres'],
  trials: { long: 5, short: 1 },
  run: async (options) => {
    await using testbed = await Testbed.open(options);
    const inFlight = new Set<string>();
    let sentByBoth = 0;
    testbed.ledger.reply = async ({ deliveryId }) => {
      if (inFlight.has(deliveryId)) sentByBoth++;
      inFlight.add(deliveryId);
      await Bun.sleep(3);
      inFlight.delete(deliveryId);
      return new Response('ok');
    };
    // The name of a header shows which instance sent a request.
    const survivor = await testbed.start({ BODY_SIGNATURE_HEADER: 'x-from-survivor' });
    for (let round = 1; round <= options.trials; round++) {
      options.progress(`kill ${round} of ${options.trials}`);
      const victim = await testbed.start({ BODY_SIGNATURE_HEADER: 'x-from-victim' });
      const before = testbed.ledger.requests.length;
      const sentBy = (name: string) =>
        testbed.ledger.requests.slice(before).filter(({ headers }) => name in headers).length;
      const load = testbed.load([survivor.client, victim.client], { pauseMs: 5 });
      await waitUntil('both instances deliver', () => sentBy('x-from-survivor') >= 50 && sentBy('x-from-victim') >= 50);
      await kill(victim);
      const killedAtMs = performance.now();
      await load.stop();
      await testbed.expireLeases();
      await testbed.recover(killedAtMs);
    }
    if (sentByBoth > 0) testbed.violations.push(`${sentByBoth} deliveries were sent by both at the same time`);
    return await testbed.finding();
  },
};
