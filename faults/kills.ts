import type { Client } from '../test/support/service.ts';
import { ENGINES } from '../test/support/stores.ts';
import type { Fault, Finding, Trial } from './fault.ts';
import { bodyOf } from './load.ts';
import { killAtOnce, Scene, someOf } from './scene.ts';
import { auditAfterKill } from './store-audit.ts';
import { comesTrue, mustComeTrue } from './waiting.ts';

/** One store through all kills: each start finds what the last death left, and now and then one may live. */

const KILLS_IN_A_ROW = 25;

export const killedWhileAccepting: Fault = {
  name: 'kill-accepting',
  what: 'SIGKILL while events are being accepted',
  engines: ENGINES,
  tries: { long: 100, short: 2 },
  run: (trial) =>
    throughKills(trial, async (scene) => {
      const instance = await scene.start();
      const load = scene.load([instance.client], { most: 400 });
      const before = someOf(60);
      await mustComeTrue('events are accepted', () => load.acknowledged.size >= before);
      await killAtOnce(instance);
      await load.stop();
      scene.mustBeSentAgain.push(...load.unanswered);
      if (load.unanswered.length === 0) scene.broken.push('a kill came after the last acceptance and proved nothing');
    }),
};

export const killedWhileDelivering: Fault = {
  name: 'kill-delivering',
  what: 'SIGKILL while events are being delivered',
  engines: ENGINES,
  tries: { long: 100, short: 2 },
  run: (trial) =>
    throughKills(trial, async (scene) => {
      scene.ledger.reply = async () => {
        await Bun.sleep(someOf(20));
        return new Response('ok');
      };
      const before = scene.ledger.posts.length + someOf(40);
      const instance = await scene.start();
      const load = scene.load([instance.client], { most: 20 });
      await mustComeTrue('events are delivered', () => scene.ledger.posts.length >= before);
      await killAtOnce(instance);
      await load.stop();
    }),
};

/** Paused before the response is sent and killed after: regardless of timing, the 200 is sent and never recorded. */
export const killedBeforeRecording: Fault = {
  name: 'kill-before-recording',
  what: 'SIGKILL after the receiver sent 200 and before the attempt is recorded',
  engines: ENGINES,
  tries: { long: 100, short: 2 },
  run: (trial) =>
    throughKills(trial, async (scene) => {
      const instance = await scene.start();
      const answered = Promise.withResolvers<string>();
      const isOfThisLoad = (eventId: string) => eventId.startsWith(`${prefix}-`);
      scene.ledger.reply = ({ eventId, deliveryId }) => {
        if (!isOfThisLoad(eventId)) return new Response('ok');
        instance.served.child.kill('SIGSTOP');
        answered.resolve(deliveryId);
        return new Response('ok');
      };
      const load = scene.load([instance.client], { most: 1 });
      const { prefix } = load;
      const deliveryId = await answered.promise;
      // The answer is on its way to a process that stands still.
      await Bun.sleep(10);
      await killAtOnce(instance);
      await load.stop();
      scene.mustComeAgain.add(deliveryId);
    }),
};

/** Whoever got no answer, or was asked to come back, sends the same again: accepted now or before, but never both. */
async function sendAgain(scene: Scene, client: Client): Promise<void> {
  for (const eventId of scene.mustBeSentAgain.splice(0)) {
    let status = 0;
    const isTaken = async () => {
      status = (await client.request('POST', '/events', bodyOf(eventId))).status;
      return status !== 503;
    };
    await comesTrue(isTaken, { everyMs: 1_000 });
    if (status === 200 || status === 202) scene.acknowledged.add(eventId);
    else scene.broken.push(`an event that was sent again after a kill was answered with ${status}`);
  }
}

async function throughKills(trial: Trial, killOnce: (scene: Scene) => Promise<void>): Promise<Finding> {
  await using scene = await Scene.open(trial);
  for (let round = 1; round <= trial.tries; round++) {
    trial.note(`kill ${round} of ${trial.tries}`);
    await killOnce(scene);
    scene.broken.push(...(await auditAfterKill(scene.url)));
    if (round % KILLS_IN_A_ROW === 0 || round === trial.tries) await startAndRecover(scene);
  }
  return await scene.finding();
}

async function startAndRecover(scene: Scene): Promise<void> {
  scene.trial.note('delivering what is left');
  scene.ledger.reply = () => new Response('ok');
  await scene.letLeasesRunOut();
  const killedAtMs = performance.now();
  const instance = await scene.start();
  await scene.recover(killedAtMs);
  await sendAgain(scene, instance.client);
  await scene.recover();
  await killAtOnce(instance);
}
