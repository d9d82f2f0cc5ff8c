import { mkdirSync, renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Instance } from '../../test/support/instances.ts';
import { runPaybell } from '../../test/support/paybell.ts';
import { ENGINES } from '../../test/support/stores.ts';
import { type Fault, type Finding, type RunOptions, sumFindings } from '../fault.ts';
import type { Load } from '../harness/load.ts';
import { PostgresServer } from '../harness/postgres-server.ts';
import { kill, Testbed } from '../harness/testbed.ts';
import { waitUntil } from '../harness/waiting.ts';

/** Events acknowledged before the backup began must be delivered after the restore; later ones are not in it. */
export const backupRestored: Fault = {
  name: 'backup-restore',
  what: 'a backup is taken under load, the database is lost, and the service starts on the restored copy',
  engines: ENGINES,
  trials: { long: 5, short: 1 },
  run: async (options) => {
    const findings: Finding[] = [];
    for (let round = 1; round <= options.trials; round++) {
      options.progress(`restore ${round} of ${options.trials}`);
      findings.push(await (options.engine === 'sqlite' ? onSqlite(options) : onPostgres(options)));
    }
    return sumFindings(findings);
  },
};

async function onSqlite(options: RunOptions): Promise<Finding> {
  await using testbed = await openSlowTestbed(options);
  const first = await testbed.start();
  const secrets = await first.client.secrets();
  const { folder } = testbed.instances;
  const load = await startLoad(testbed, first);
  const { exitCode, stderr } = await runPaybell(['backup', 'copy.db'], folder);
  if (exitCode !== 0) testbed.violations.push(`backup ended with ${exitCode}: ${stderr}`);
  await killAndStop(first, load);
  renameSync(join(folder, 'data'), join(folder, 'data.lost'));
  mkdirSync(join(folder, 'data'));
  for (const end of ['', '.key']) renameSync(join(folder, `copy.db${end}`), join(folder, `data/paybell.db${end}`));
  await startRestored(testbed, secrets.secrets[0]?.secret);
  return await testbed.finding();
}

/** Uses a base backup of the files, since `pg_dump` is not on every machine. */
async function onPostgres(options: RunOptions): Promise<Finding> {
  await using server = await PostgresServer.start();
  await using testbed = await openSlowTestbed(options, { DATABASE_URL: await server.createDatabase() });
  const first = await testbed.start();
  const secrets = await first.client.secrets();
  const load = await startLoad(testbed, first);
  const copy = join(tmpdir(), `paybell-faults-${crypto.randomUUID()}`);
  await server.copyTo(copy);
  await killAndStop(first, load);
  await server.stop();
  await using restored = await PostgresServer.startOn(copy);
  testbed.instances.moveTo(restored.urlOf(new URL(testbed.url).pathname.slice(1)));
  await startRestored(testbed, secrets.secrets[0]?.secret);
  return await testbed.finding();
}

/** Deliveries are slow, so that most acknowledged events are still queued when the backup is taken. */
function openSlowTestbed(options: RunOptions, settings: Record<string, string> = {}): Promise<Testbed> {
  const reply = async () => {
    await Bun.sleep(20);
    return new Response('ok');
  };
  return Testbed.open(options, { reply, settings: { DESTINATION_CONCURRENCY: '2', ...settings } });
}

async function startLoad(testbed: Testbed, { client }: Instance): Promise<Load> {
  const load = testbed.untrackedLoad([client], { concurrency: 8, pauseMs: 5 });
  await waitUntil('events are accepted', () => load.acknowledged.size >= 100);
  testbed.trackAcknowledged(load);
  return load;
}

async function killAndStop(instance: Instance, load: Load): Promise<void> {
  await kill(instance);
  await load.stop();
}

async function startRestored(testbed: Testbed, secret: string | undefined): Promise<void> {
  testbed.ledger.reply = () => new Response('ok');
  await testbed.expireLeases();
  const restoredAtMs = performance.now();
  const { client } = await testbed.start({ DESTINATION_CONCURRENCY: '16' });
  if ((await client.secrets()).secrets[0]?.secret !== secret)
    testbed.violations.push('the restored service signs with another secret');
  for (const eventId of testbed.acknowledged) {
    const { status } = await client.request('GET', `/events/${eventId}`);
    if (status !== 200)
      testbed.violations.push(`an event that was acknowledged before the backup returns ${status} after the restore`);
  }
  await testbed.recover(restoredAtMs);
}
