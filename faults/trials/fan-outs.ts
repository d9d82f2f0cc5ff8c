import { join } from 'node:path';
import type { Instance } from '../../test/support/instances.ts';
import { ENGINES } from '../../test/support/stores.ts';
import { type Fault, type Finding, type RunOptions, sumFindings } from '../fault.ts';
import type { Load } from '../harness/load.ts';
import { PostgresServer } from '../harness/postgres-server.ts';
import { repeatedWithoutCause } from '../harness/repeats.ts';
import { auditAfterKill, countRows, withStore } from '../harness/store-audit.ts';
import { kill, Testbed } from '../harness/testbed.ts';
import { waitUntil } from '../harness/waiting.ts';

/**
 * Events for more webhooks than one transaction has room for. They are acknowledged with their first deliveries and a task;
 * the fault comes with the first acknowledgement, while the tasks of all of them are open.
 */

/** The acceptance takes a thousand, and each step of the task as many. */
const webhooksOf = ({ fast }: RunOptions) => (fast ? 1_100 : 2_100);
const eventsOf = ({ fast }: RunOptions) => (fast ? 2 : 4);
/** On a busy machine, the fan-outs may all be finished before the kill arrives. That round tested nothing and is repeated. */
const MAX_TRIES = 10;
const WEBHOOKS_FILE = 'webhooks.jsonl';
const DESTINATIONS = 3;
/**
 * So long that none is sent again because the receiver, which shares a busy machine, responds late. Where leases are not
 * made to expire, they are a little longer than this and shorter than the limit of recovery.
 */
const settingsOf = ({ fast }: RunOptions) => ({ DELIVERY_TIMEOUT: fast ? '60s' : '30s' });

export const killedDuringFanOut: Fault = {
  name: 'kill-fan-out',
  what: 'SIGKILL while the deliveries of events for more than 1,000 webhooks are being made',
  engines: ENGINES,
  trials: { long: 10, short: 1 },
  run: (options) => inRounds(options, killInTime),
};

export const outageDuringFanOut: Fault = {
  name: 'outage-fan-out',
  what: 'PostgreSQL crashes and is started at once, while such deliveries are being made',
  engines: ['postgres'],
  trials: { long: 10, short: 1 },
  run: async (options) => {
    await using server = await PostgresServer.start();
    return await inRounds(options, (each) => crashOnce(each, server));
  },
};

async function inRounds(options: RunOptions, once: (options: RunOptions) => Promise<Finding>): Promise<Finding> {
  const findings: Finding[] = [];
  for (let round = 1; round <= options.trials; round++) {
    options.progress(`fan-out ${round} of ${options.trials}`);
    findings.push(await once(options));
  }
  return sumFindings(findings);
}

async function killInTime(options: RunOptions): Promise<Finding> {
  for (let tried = 0; tried < MAX_TRIES; tried++) {
    const finding = await killOnce(options);
    if (finding !== null) return finding;
  }
  throw new Error(`Each of ${MAX_TRIES} kills came after the last fan-out`);
}

/** Returns null if the kill came after the last fan-out. */
async function killOnce(options: RunOptions): Promise<Finding | null> {
  await using testbed = await Testbed.open(options, { settings: settingsOf(options), destinations: DESTINATIONS });
  const victim = await startWithWebhooks(testbed);
  const load = await beginFanOuts(testbed, victim);
  await kill(victim);
  await load.stop();
  const recorded = await recordedIds(testbed);
  if (!(await hasOpenTask(testbed))) return null;
  testbed.violations.push(...(await auditAfterKill(testbed.url)));
  await testbed.expireLeases();
  const killedAtMs = performance.now();
  // Not right after the kill: requests that were on their way then arrive a moment later.
  const sentBefore = testbed.ledger.requests.length;
  await testbed.start();
  await testbed.recover(killedAtMs);
  const { requests } = testbed.ledger;
  const wasNotRecorded = (deliveryId: string, index: number) => index < sentBefore && !recorded.has(deliveryId);
  testbed.violations.push(
    ...repeatedWithoutCause(requests, ({ deliveryId }, index) => wasNotRecorded(deliveryId, index)),
  );
  return await testbed.finding();
}

/** The service is not restarted, and records what it had sent once the database is back: nothing is sent twice. */
async function crashOnce(options: RunOptions, server: PostgresServer): Promise<Finding> {
  const settings = { ...settingsOf(options), DATABASE_URL: await server.createDatabase() };
  await using testbed = await Testbed.open(options, { settings, destinations: DESTINATIONS });
  const instance = await startWithWebhooks(testbed);
  const load = await beginFanOuts(testbed, instance);
  await server.restartImmediately();
  const backAtMs = performance.now();
  await load.stop();
  // Of claims whose commit was not confirmed. What the instance holds itself it does not send again.
  await testbed.expireLeases();
  await testbed.recover(backAtMs);
  if (instance.served.child.exitCode !== null) testbed.violations.push('the service exited');
  testbed.violations.push(...repeatedWithoutCause(testbed.ledger.requests, () => false));
  return await testbed.finding();
}

/** All webhooks, also those of the testbed, receive every event. */
async function startWithWebhooks(testbed: Testbed): Promise<Instance> {
  const instance = await testbed.start();
  const paths = Array.from({ length: webhooksOf(testbed.options) }, (_, index) => `/fan-out/${index}`);
  const { instances, ledger } = testbed;
  const lines = paths.map((path, index) =>
    JSON.stringify({ networkId: 1, event: 'LatePayment', postUrl: ledger.url(path, index) }),
  );
  await Bun.write(join(instances.folder, WEBHOOKS_FILE), lines.join('\n'));
  const imported = instances.startCommand(['import', WEBHOOKS_FILE, '--entity', instances.credentials.entityId]);
  if ((await imported.exited) !== 0) throw new Error('The webhooks could not be imported');
  for (const path of paths) testbed.receivers.set(path, [path]);
  return instance;
}

async function beginFanOuts(testbed: Testbed, { client }: Instance): Promise<Load> {
  const events = eventsOf(testbed.options);
  const load = testbed.load([client], { concurrency: events, most: events });
  await waitUntil('an event is acknowledged', () => load.acknowledged.size > 0);
  return load;
}

async function hasOpenTask({ url }: Testbed): Promise<boolean> {
  return (
    (await withStore(url, (db) => countRows(db, 'select count(*) as count from tasks where event_no is not null'))) > 0
  );
}

async function recordedIds({ url }: Testbed): Promise<Set<string>> {
  return withStore(url, async (db) => {
    const rows = await db.all<{ id: string | Uint8Array }>('select id from deliveries');
    return new Set(rows.map(({ id }) => `dlv_${db.dialect.hexOf(id)}`));
  });
}
