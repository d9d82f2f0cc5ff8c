import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ENGINES } from '../../test/support/stores.ts';
import type { Fault, Finding, RunOptions } from '../fault.ts';
import { wrongRejections } from '../harness/load.ts';
import { PostgresServer } from '../harness/postgres-server.ts';
import { SmallDisk } from '../harness/small-disk.ts';
import { randomUpTo, Testbed } from '../harness/testbed.ts';
import { waitUntil } from '../harness/waiting.ts';

const NO_LIMIT = 1_000_000_000;
/** A random rest, so that the disk becomes full at different points of the work. */
const leftBytes = () => randomUpTo(512) * 1024;

type Disk = { fill: () => void; empty: () => void };

export const diskFull: Fault = {
  name: 'disk-full',
  what: 'the disk of the database fills up under load, and has space again after a while',
  engines: ENGINES,
  trials: { long: 10, short: 1 },
  run: async (options) => {
    await using disk = await SmallDisk.mount(options.engine === 'sqlite' ? 24 : 64);
    if (disk === null) return options.engine === 'sqlite' ? await onLimitedPages(options) : null;
    if (options.engine === 'postgres') return await onPostgres(options, disk);
    await using testbed = await Testbed.open(options, { settings: { DATABASE_URL: `sqlite:${disk.path}/paybell.db` } });
    return await fillAndEmpty(testbed, { fill: () => disk.fill(leftBytes()), empty: () => disk.empty() });
  },
};

/** Only the tables are on the small disk: without space for its write-ahead log PostgreSQL shuts down, which is another fault. */
async function onPostgres(options: RunOptions, disk: SmallDisk): Promise<Finding> {
  await using server = await PostgresServer.start();
  await Bun.$`chown --reference=${server.folder} ${disk.path}`.quiet();
  await server.run(`create tablespace small location '${disk.path}'`);
  const url = await server.createDatabase('tablespace small');
  await using testbed = await Testbed.open(options, { settings: { DATABASE_URL: url } });
  return await fillAndEmpty(testbed, { fill: () => disk.fill(leftBytes()), empty: () => disk.empty() });
}

async function onLimitedPages(options: RunOptions): Promise<Finding> {
  const preload = resolve(import.meta.dir, '../preload/limit-pages.ts');
  const settings: Record<string, string> = { BUN_OPTIONS: `--preload=${preload}` };
  await using testbed = await Testbed.open(options, { settings });
  const file = join(testbed.instances.folder, 'page-limit');
  const limit = (pages: number) => writeFileSync(file, String(pages));
  limit(NO_LIMIT);
  settings.FAULTS_PAGE_LIMIT_FILE = file;
  return await fillAndEmpty(testbed, { fill: () => limit(1), empty: () => limit(NO_LIMIT) }, settings);
}

async function fillAndEmpty(testbed: Testbed, disk: Disk, settings: Record<string, string> = {}): Promise<Finding> {
  const { options } = testbed;
  const { client, served } = await testbed.start(settings);
  for (let round = 1; round <= options.trials; round++) {
    options.progress(`full disk ${round} of ${options.trials}`);
    const load = testbed.load([client], { concurrency: 8, pauseMs: 5 });
    await waitUntil('events are accepted', () => load.acknowledged.size >= 50);
    disk.fill();
    await waitUntil('events are rejected', () => load.rejections.length >= 20);
    for (const path of ['/webhooks/classic?limit=3', '/events?limit=3', '/deliveries?limit=3']) {
      const { status } = await client.request('GET', path);
      if (status !== 200) testbed.violations.push(`GET ${path} returned ${status} while the disk was full`);
    }
    disk.empty();
    const emptiedAtMs = performance.now();
    const before = load.acknowledged.size;
    await waitUntil('events are accepted again', () => load.acknowledged.size >= before + 20);
    await load.stop();
    testbed.violations.push(...wrongRejections(load.rejections));
    await testbed.recover(emptiedAtMs);
  }
  if (served.child.exitCode !== null) testbed.violations.push('the service exited');
  return await testbed.finding();
}
