import { mkdirSync, renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Instance } from '../test/support/instances.ts';
import { runPaybell } from '../test/support/paybell.ts';
import { ENGINES } from '../test/support/stores.ts';
import { addUp, type Fault, type Finding, type Trial } from './fault.ts';
import type { Load } from './load.ts';
import { PostgresServer } from './postgres-server.ts';
import { killAtOnce, Scene } from './scene.ts';
import { mustComeTrue } from './waiting.ts';

/** What was acknowledged before the backup began must be there after the restore; what came later is not in it. */
export const backupRestored: Fault = {
  name: 'backup-restore',
  what: 'a backup is taken under load, the database is lost, and the service starts on the restored copy',
  engines: ENGINES,
  tries: { long: 5, short: 1 },
  run: async (trial) => {
    const findings: Finding[] = [];
    for (let round = 1; round <= trial.tries; round++) {
      trial.note(`restore ${round} of ${trial.tries}`);
      findings.push(await (trial.engine === 'sqlite' ? onSqlite(trial) : onPostgres(trial)));
    }
    return addUp(findings);
  },
};

async function onSqlite(trial: Trial): Promise<Finding> {
  await using scene = await openSlowScene(trial);
  const first = await scene.start();
  const secrets = await first.client.secrets();
  const { folder } = scene.instances;
  const load = await loadAndPromise(scene, first);
  const { exitCode, stderr } = await runPaybell(['backup', 'copy.db'], folder);
  if (exitCode !== 0) scene.broken.push(`backup ended with ${exitCode}: ${stderr}`);
  await loseEverything(first, load);
  renameSync(join(folder, 'data'), join(folder, 'data.lost'));
  mkdirSync(join(folder, 'data'));
  for (const end of ['', '.key']) renameSync(join(folder, `copy.db${end}`), join(folder, `data/paybell.db${end}`));
  await startRestored(scene, secrets.secrets[0]?.secret);
  return await scene.finding();
}

/** By PostgreSQL's own protocol for a backup of its files, since its tools for dumps are not on every machine. */
async function onPostgres(trial: Trial): Promise<Finding> {
  await using server = await PostgresServer.start();
  await using scene = await openSlowScene(trial, { DATABASE_URL: await server.createDatabase() });
  const first = await scene.start();
  const secrets = await first.client.secrets();
  const load = await loadAndPromise(scene, first);
  const copy = join(tmpdir(), `paybell-faults-${crypto.randomUUID()}`);
  await server.copyTo(copy);
  await loseEverything(first, load);
  await server.stop();
  await using restored = await PostgresServer.startOn(copy);
  scene.instances.moveTo(restored.urlOf(new URL(scene.url).pathname.slice(1)));
  await startRestored(scene, secrets.secrets[0]?.secret);
  return await scene.finding();
}

/** So slow that most of what is promised still waits when the backup is taken. */
function openSlowScene(trial: Trial, settings: Record<string, string> = {}): Promise<Scene> {
  const reply = async () => {
    await Bun.sleep(20);
    return new Response('ok');
  };
  return Scene.open(trial, { reply, settings: { DESTINATION_CONCURRENCY: '2', ...settings } });
}

async function loadAndPromise(scene: Scene, { client }: Instance): Promise<Load> {
  const load = scene.loadApart([client], { atATime: 8, restMs: 5 });
  await mustComeTrue('events are accepted', () => load.acknowledged.size >= 100);
  scene.noteAcknowledged(load);
  return load;
}

async function loseEverything(instance: Instance, load: Load): Promise<void> {
  await killAtOnce(instance);
  await load.stop();
}

async function startRestored(scene: Scene, secret: string | undefined): Promise<void> {
  scene.ledger.reply = () => new Response('ok');
  await scene.letLeasesRunOut();
  const restoredAtMs = performance.now();
  const { client } = await scene.start({ DESTINATION_CONCURRENCY: '16' });
  if ((await client.secrets()).secrets[0]?.secret !== secret) scene.broken.push('it signs with another secret');
  for (const eventId of scene.acknowledged) {
    const { status } = await client.request('GET', `/events/${eventId}`);
    if (status !== 200) scene.broken.push(`an event that was acknowledged before the backup is ${status} after it`);
  }
  await scene.recover(restoredAtMs);
}
