import { MIGRATIONS } from '../src/store/database/migrate.ts';
import { ENGINES } from '../test/support/stores.ts';
import { addUp, type Fault, type Finding, type Trial } from './fault.ts';
import { Scene, someOf } from './scene.ts';
import { countRows, withStore } from './store-audit.ts';
import { mustComeTrue } from './waiting.ts';

export const toldToStop: Fault = {
  name: 'sigterm',
  what: 'SIGTERM under load: the process exits with 0, and nothing is delivered twice',
  engines: ENGINES,
  tries: { long: 20, short: 1 },
  run: async (trial) => {
    const reply = async () => {
      await Bun.sleep(10);
      return new Response('ok');
    };
    // Nothing may time out and be tried again, or that would be taken for a post that came twice.
    const settings = { DESTINATION_CONCURRENCY: '4', DELIVERY_TIMEOUT: '60s' };
    await using scene = await Scene.open(trial, { reply, settings });
    for (let round = 1; round <= trial.tries; round++) {
      trial.note(`stop ${round} of ${trial.tries}`);
      const { client, served } = await scene.start();
      const load = scene.load([client], { most: 40 });
      const before = scene.ledger.posts.length + someOf(40);
      await mustComeTrue('events are delivered', () => scene.ledger.posts.length >= before);
      const { exitCode } = await served.stop('SIGTERM');
      await load.stop();
      if (exitCode !== 0) scene.broken.push(`it ended with ${exitCode}`);
    }
    scene.ledger.reply = () => new Response('ok');
    const endedAtMs = performance.now();
    await scene.start({ DESTINATION_CONCURRENCY: '16' });
    await scene.recover(endedAtMs);
    const finding = await scene.finding();
    if (finding.duplicated === 0) return finding;
    return {
      ...finding,
      broken: [...finding.broken, `${finding.duplicated} posts came twice though it was told to stop`],
    };
  },
};

export const migratingTogether: Fault = {
  name: 'two-migrating',
  what: 'two instances start at the same moment on an empty database: one creates the schema, and both serve',
  engines: ENGINES,
  tries: { long: 20, short: 1 },
  run: async (trial) => {
    const findings: Finding[] = [];
    for (let round = 1; round <= trial.tries; round++) {
      trial.note(`start ${round} of ${trial.tries}`);
      findings.push(await startTogether(trial));
    }
    return addUp(findings);
  },
};

async function startTogether(trial: Trial): Promise<Finding> {
  await using scene = await Scene.open(trial);
  const clients = (await scene.instances.startTogether(2)).map(({ client }) => client);
  for (const client of clients) await scene.register(client);
  const load = scene.load(clients, { most: 20 });
  await load.ended;
  const sentAtMs = performance.now();
  if (load.acknowledged.size < 20) scene.broken.push('one of them did not accept events');
  await withStore(scene.url, async (db) => {
    const applied = await countRows(db, 'select count(*) as count from schema_migrations');
    const entities = await countRows(db, 'select count(*) as count from entities');
    if (applied !== MIGRATIONS.length) scene.broken.push(`${applied} migrations are noted as applied`);
    if (entities !== 1) scene.broken.push(`${entities} first entities were made`);
  });
  await scene.recover(sentAtMs);
  return await scene.finding();
}
