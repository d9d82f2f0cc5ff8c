import type { Client } from '../../test/support/service.ts';
import { ENGINES } from '../../test/support/stores.ts';
import type { Fault, Finding, RunOptions } from '../fault.ts';
import { bodyOf } from '../harness/load.ts';
import { auditAfterKill } from '../harness/store-audit.ts';
import { kill, randomUpTo, Testbed } from '../harness/testbed.ts';
import { eventually, waitUntil } from '../harness/waiting.ts';

/** All kills of a trial share one store: each start finds what the kill before it left. */

/** After this many kills an instance may run until everything is delivered. */
const KILLS_IN_A_ROW = 25;

export const killedWhileAccepting: Fault = {
  name: 'kill-accepting',
  what: 'SIGKILL while events are being accepted',
  engines: ENGINES,
  trials: { long: 100, short: 2 },
  run: (options) =>
    throughKills(options, async (testbed) => {
      const instance = await testbed.start();
      const load = testbed.load([instance.client], { most: 400 });
      const before = randomUpTo(60);
      await waitUntil('events are accepted', () => load.acknowledged.size >= before);
      await kill(instance);
      await load.stop();
      testbed.toResend.push(...load.withoutResponse);
      if (load.withoutResponse.length === 0)
        testbed.violations.push('a kill came after the last response and therefore tested nothing');
    }),
};

export const killedWhileDelivering: Fault = {
  name: 'kill-delivering',
  what: 'SIGKILL while events are being delivered',
  engines: ENGINES,
  trials: { long: 100, short: 2 },
  run: (options) =>
    throughKills(options, async (testbed) => {
      testbed.ledger.reply = async () => {
        await Bun.sleep(randomUpTo(20));
        return new Response('ok');
      };
      const before = testbed.ledger.requests.length + randomUpTo(40);
      const instance = await testbed.start();
      const load = testbed.load([instance.client], { most: 20 });
      await waitUntil('events are delivered', () => testbed.ledger.requests.length >= before);
      await kill(instance);
      await load.stop();
    }),
};

/** Paused before the response is sent and killed after: regardless of timing, the 200 is sent and never recorded. */
export const killedBeforeRecording: Fault = {
  name: 'kill-before-recording',
  what: 'SIGKILL after the receiver sent 200 and before the attempt is recorded',
  engines: ENGINES,
  trials: { long: 100, short: 2 },
  run: (options) =>
    throughKills(options, async (testbed) => {
      const instance = await testbed.start();
      const received = Promise.withResolvers<string>();
      const isOfThisLoad = (eventId: string) => eventId.startsWith(`${prefix}-`);
      testbed.ledger.reply = ({ eventId, deliveryId }) => {
        if (!isOfThisLoad(eventId)) return new Response('ok');
        instance.served.child.kill('SIGSTOP');
        received.resolve(deliveryId);
        return new Response('ok');
      };
      const load = testbed.load([instance.client], { most: 1 });
      const { prefix } = load;
      const deliveryId = await received.promise;
      // Time for the response to arrive at the paused process.
      await Bun.sleep(10);
      await kill(instance);
      await load.stop();
      testbed.mustBeRepeated.add(deliveryId);
    }),
};

/** Sends the events without a response again, as a client has to. The service accepts each only once. */
async function sendAgain(testbed: Testbed, client: Client): Promise<void> {
  for (const eventId of testbed.toResend.splice(0)) {
    let status = 0;
    const isAccepted = async () => {
      status = (await client.request('POST', '/events', bodyOf(eventId))).status;
      return status !== 503;
    };
    await eventually(isAccepted, { everyMs: 1_000 });
    if (status === 200 || status === 202) testbed.acknowledged.add(eventId);
    else testbed.violations.push(`an event that was sent again after a kill got the response ${status}`);
  }
}

async function throughKills(options: RunOptions, killOnce: (testbed: Testbed) => Promise<void>): Promise<Finding> {
  await using testbed = await Testbed.open(options);
  for (let round = 1; round <= options.trials; round++) {
    options.progress(`kill ${round} of ${options.trials}`);
    await killOnce(testbed);
    testbed.violations.push(...(await auditAfterKill(testbed.url)));
    if (round % KILLS_IN_A_ROW === 0 || round === options.trials) await startAndRecover(testbed);
  }
  return await testbed.finding();
}

async function startAndRecover(testbed: Testbed): Promise<void> {
  testbed.options.progress('delivering the rest');
  testbed.ledger.reply = () => new Response('ok');
  await testbed.expireLeases();
  const killedAtMs = performance.now();
  const instance = await testbed.start();
  await testbed.recover(killedAtMs);
  await sendAgain(testbed, instance.client);
  await testbed.recover();
  await kill(instance);
}
