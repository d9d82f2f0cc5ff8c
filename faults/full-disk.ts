import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ENGINES } from '../test/support/stores.ts';
import type { Fault, Finding, Trial } from './fault.ts';
import { wrongRefusals } from './load.ts';
import { PostgresServer } from './postgres-server.ts';
import { Scene, someOf } from './scene.ts';
import { SmallDisk } from './small-disk.ts';
import { mustComeTrue } from './waiting.ts';

const NO_LIMIT = 1_000_000_000;
/** Something is left, another amount each time, so that it runs out in the middle of different things. */
const leftBytes = () => someOf(512) * 1024;

type Disk = { fill: () => void; empty: () => void };

export const diskFull: Fault = {
  name: 'disk-full',
  what: 'the disk of the database fills up under load, and has space again after a while',
  engines: ENGINES,
  tries: { long: 10, short: 1 },
  run: async (trial) => {
    await using disk = await SmallDisk.mount(trial.engine === 'sqlite' ? 24 : 64);
    if (disk === null) return trial.engine === 'sqlite' ? await onLimitedPages(trial) : null;
    if (trial.engine === 'postgres') return await onPostgres(trial, disk);
    await using scene = await Scene.open(trial, { settings: { DATABASE_URL: `sqlite:${disk.path}/paybell.db` } });
    return await fillAndEmpty(scene, { fill: () => disk.fill(leftBytes()), empty: () => disk.empty() });
  },
};

/** The tables are on the small disk. Its own log is not: without that PostgreSQL ends itself, which is another trial. */
async function onPostgres(trial: Trial, disk: SmallDisk): Promise<Finding> {
  await using server = await PostgresServer.start();
  await Bun.$`chown --reference=${server.folder} ${disk.path}`.quiet();
  await server.run(`create tablespace small location '${disk.path}'`);
  const url = await server.createDatabase('tablespace small');
  await using scene = await Scene.open(trial, { settings: { DATABASE_URL: url } });
  return await fillAndEmpty(scene, { fill: () => disk.fill(leftBytes()), empty: () => disk.empty() });
}

async function onLimitedPages(trial: Trial): Promise<Finding> {
  const preload = resolve(import.meta.dir, 'inside/limit-pages.ts');
  const settings: Record<string, string> = { BUN_OPTIONS: `--preload=${preload}` };
  await using scene = await Scene.open(trial, { settings });
  const file = join(scene.instances.folder, 'page-limit');
  const limit = (pages: number) => writeFileSync(file, String(pages));
  limit(NO_LIMIT);
  settings.FAULTS_PAGE_LIMIT_FILE = file;
  return await fillAndEmpty(scene, { fill: () => limit(1), empty: () => limit(NO_LIMIT) }, settings);
}

async function fillAndEmpty(scene: Scene, disk: Disk, settings: Record<string, string> = {}): Promise<Finding> {
  const { trial } = scene;
  const { client, served } = await scene.start(settings);
  for (let round = 1; round <= trial.tries; round++) {
    trial.note(`full disk ${round} of ${trial.tries}`);
    const load = scene.load([client], { atATime: 8, restMs: 5 });
    await mustComeTrue('events are accepted', () => load.acknowledged.size >= 50);
    disk.fill();
    await mustComeTrue('events are refused', () => load.refusals.length >= 20);
    for (const path of ['/webhooks/classic?limit=3', '/events?limit=3', '/deliveries?limit=3']) {
      const { status } = await client.request('GET', path);
      if (status !== 200) scene.broken.push(`GET ${path} was answered with ${status} while the disk was full`);
    }
    disk.empty();
    const emptiedAtMs = performance.now();
    const before = load.acknowledged.size;
    await mustComeTrue('events are accepted again', () => load.acknowledged.size >= before + 20);
    await load.stop();
    scene.broken.push(...wrongRefusals(load.refusals));
    await scene.recover(emptiedAtMs);
  }
  if (served.child.exitCode !== null) scene.broken.push('the service ended');
  return await scene.finding();
}
