import type { SqlInteger } from '../src/store/database/database.ts';
import { ENGINES } from '../test/support/stores.ts';
import type { Fault } from './fault.ts';
import { killAtOnce, Scene } from './scene.ts';
import { withStore } from './store-audit.ts';
import { comesTrue, mustComeTrue } from './waiting.ts';

const REFUSED = /settlement refused/g;

/**
 * The first instance posts and stands still before it is answered; its lease runs out (on SQLite the next start ends it),
 * and another delivers. When it wakes, it believes that the attempt failed and wants to write that down.
 */
export const stalledInstance: Fault = {
  name: 'stalled-instance',
  what: 'an instance is paused (SIGSTOP) past its lease and resumed: the fencing token rejects its late result',
  engines: ENGINES,
  tries: { long: 5, short: 1 },
  run: async (trial) => {
    // Long enough that the attempt is under way when it is stalled, however slow the machine.
    await using scene = await Scene.open(trial, { settings: { DELIVERY_TIMEOUT: '5s' } });
    for (let round = 1; round <= trial.tries; round++) {
      trial.note(`stall ${round} of ${trial.tries}`);
      await stallOnce(scene);
    }
    scene.broken.push(...(await wrongRows(scene.url)));
    return await scene.finding();
  },
};

async function stallOnce(scene: Scene): Promise<void> {
  const { ledger } = scene;
  // To the stalled one nobody ever answers; to whoever posts the same again, at once.
  ledger.reply = (_post, earlier) => (earlier === 0 ? new Promise(() => undefined) : new Response('ok'));
  const stalled = await scene.start();
  const before = ledger.posts.length;
  const load = scene.load([stalled.client], { most: 1 });
  await load.ended;
  await mustComeTrue('every webhook is posted to', () => ledger.posts.length === before + 3);
  stalled.served.child.kill('SIGSTOP');
  const stalledAtMs = performance.now();
  await scene.letLeasesRunOut();
  const other = await scene.start();
  await mustComeTrue('another instance has posted them', () => ledger.posts.length >= before + 6);
  await scene.recover(stalledAtMs);
  stalled.served.child.kill('SIGCONT');
  const refused = () => stalled.served.stdout().match(REFUSED)?.length ?? 0;
  if (!(await comesTrue(() => refused() >= 3))) {
    scene.broken.push(`${refused()} of 3 late settlements were refused`);
  }
  await Promise.all([killAtOnce(stalled), killAtOnce(other)]);
}

/** The late one has left no trace: one attempt each, answered with 200. */
function wrongRows(url: string): Promise<string[]> {
  return withStore(url, async (db) => {
    const rows = await db.all<{ id: string; status: string; attempts: SqlInteger; logged: SqlInteger }>(
      `select d.id, d.status, d.attempts,
         (select count(*) from attempts a where a.entity_id = d.entity_id and a.delivery_id = d.id) as logged
       from deliveries d
       where d.status <> 'delivered' or d.attempts <> 1 or d.last_status_code is null or d.last_status_code <> 200`,
    );
    return rows.map(({ id, status, attempts, logged }) => `${id} is ${status}, ${attempts} attempts, ${logged} logged`);
  });
}
