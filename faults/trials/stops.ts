import { MIGRATIONS } from '../../src/store/database/migrate.ts';
import { ENGINES } from '../../test/support/stores.ts';
import { type Fault, type Finding, type RunOptions, sumFindings } from '../fault.ts';
import { countRows, withStore } from '../harness/store-audit.ts';
import { randomUpTo, Testbed } from '../harness/testbed.ts';
import { waitUntil } from '../harness/waiting.ts';

export const stoppedBySigterm: Fault = {
  name: 'sigterm',
  what: 'SIGTERM under load: the process exits with 0, and nothing is delivered twice',
  engines: ENGINES,
  trials: { long: 20, short: 1 },
  run: async (options) => {
    const reply = async () => {
      await Bun.sleep(10);
      return new Response('ok');
    };
    // No attempt may time out, because its retry would look like a duplicate.
    const settings = { DESTINATION_CONCURRENCY: '4', DELIVERY_TIMEOUT: '60s' };
    await using testbed = await Testbed.open(options, { reply, settings });
    for (let round = 1; round <= options.trials; round++) {
      options.progress(`stop ${round} of ${options.trials}`);
      const { client, served } = await testbed.start();
      const load = testbed.load([client], { most: 40 });
      const before = testbed.ledger.requests.length + randomUpTo(40);
      await waitUntil('events are delivered', () => testbed.ledger.requests.length >= before);
      const { exitCode } = await served.stop('SIGTERM');
      await load.stop();
      if (exitCode !== 0) testbed.violations.push(`the process exited with ${exitCode}`);
    }
    testbed.ledger.reply = () => new Response('ok');
    const endedAtMs = performance.now();
    await testbed.start({ DESTINATION_CONCURRENCY: '16' });
    await testbed.recover(endedAtMs);
    const finding = await testbed.finding();
    if (finding.duplicated === 0) return finding;
    return {
      ...finding,
      violations: [...finding.violations, `${finding.duplicated} deliveries were sent twice after a regular stop`],
    };
  },
};

export const migratedByTwo: Fault = {
  name: 'two-migrating',
  what: 'two instances start at the same moment on an empty database: one creates the schema, and both serve',
  engines: ['postgres'],
  trials: { long: 20, short: 1 },
  run: async (options) => {
    const findings: Finding[] = [];
    for (let round = 1; round <= options.trials; round++) {
      options.progress(`start ${round} of ${options.trials}`);
      findings.push(await startTogether(options));
    }
    return sumFindings(findings);
  },
};

async function startTogether(options: RunOptions): Promise<Finding> {
  await using testbed = await Testbed.open(options);
  const clients = (await testbed.instances.startTogether(2)).map(({ client }) => client);
  for (const client of clients) await testbed.register(client);
  const load = testbed.load(clients, { most: 20 });
  await load.ended;
  const sentAtMs = performance.now();
  if (load.acknowledged.size < 20) testbed.violations.push('one of the two instances did not accept events');
  await withStore(testbed.url, async (db) => {
    const applied = await countRows(db, 'select count(*) as count from schema_migrations');
    const entities = await countRows(db, 'select count(*) as count from entities');
    if (applied !== MIGRATIONS.length) testbed.violations.push(`${applied} migrations are recorded as applied`);
    if (entities !== 1) testbed.violations.push(`${entities} first entities were created`);
  });
  await testbed.recover(sentAtMs);
  return await testbed.finding();
}
