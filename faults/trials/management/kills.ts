import type { Subprocess } from 'bun';
import type { Instance } from '../../../test/support/instances.ts';
import { ENGINES } from '../../../test/support/stores.ts';
import { type Fault, type Finding, type RunOptions, sumFindings } from '../../fault.ts';
import { auditAfterKill, countRows, withStore } from '../../harness/store-audit.ts';
import { kill, Testbed } from '../../harness/testbed.ts';
import { eventually } from '../../harness/waiting.ts';
import { CALLS, type ManagementCall } from './calls.ts';
import { COMMANDS, type ManagementCommand } from './commands.ts';
import { DELIVERY_TIMEOUT, Site, VICTIM_HEADER } from './site.ts';

/** Each trial runs every call and every command once, each on a store of its own. */

export const killedWhileManaging: Fault = {
  name: 'kill-managing',
  what: 'SIGKILL during resume, suspend, move, delete, bulk redelivery, rotation of secrets and keys, import and retention, with a backlog',
  engines: ENGINES,
  trials: { long: 10, short: 1 },
  run: (options) => throughTable(options, { isTakenOver: false }),
};

export const takenOverWhileManaging: Fault = {
  name: 'takeover-managing',
  what: 'the same calls are interrupted while a second instance runs, or a second command: it takes over',
  engines: ['postgres'],
  trials: { long: 10, short: 1 },
  run: (options) => throughTable(options, { isTakenOver: true }),
};

type Variant = { readonly isTakenOver: boolean };

type Interruption = { readonly name: string; readonly run: () => Promise<Finding> };

async function throughTable(options: RunOptions, variant: Variant): Promise<Finding> {
  const table: readonly Interruption[] = [
    ...CALLS.map((call) => ({ name: call.name, run: () => killDuringCall(options, call, variant) })),
    ...COMMANDS.map((command) => ({ name: command.name, run: () => killCommand(options, command, variant) })),
  ];
  const findings: Finding[] = [];
  const planned = Array.from({ length: options.trials }, () => table).flat();
  let next = 0;
  const work = async () => {
    for (let one = planned[next++]; one !== undefined; one = planned[next++]) {
      const { name, run } = one;
      options.progress(`${name}, ${next} of ${planned.length}`);
      const { violations, ...finding } = await run();
      findings.push({ ...finding, violations: violations.map((violation) => `${name}: ${violation}`) });
    }
  };
  await Promise.all(Array.from({ length: options.fast ? FAST_AT_ONCE : 1 }, work));
  return sumFindings(findings);
}

/** The tests do not wait for one call after the other, since each mostly waits. */
const FAST_AT_ONCE = 3;

/**
 * An attempt may last as long as is allowed, and a lease longer still: what arrives within the limit of recovery did not
 * wait for the end of one. Few requests are in flight at a time, so that nearly all deliveries have to be claimed.
 */
const SETTINGS = { DELIVERY_TIMEOUT, DESTINATION_CONCURRENCY: '4', SIGN_ASYMMETRIC: 'true' };
const DESTINATIONS = 3;

const backlogOf = ({ fast }: RunOptions) => (fast ? 100 : 1_000);

function openSite(options: RunOptions): Promise<Testbed> {
  return Testbed.open(options, { settings: SETTINGS, destinations: DESTINATIONS });
}

const UNCLAIMED = 'select count(*) as count from queue where lease_ms = 0';

/** While the receivers hold every request back. */
async function acceptBacklog(site: Site, { client }: Instance): Promise<void> {
  const { testbed } = site;
  site.close();
  const load = testbed.load([client], { most: backlogOf(testbed.options) });
  await load.ended;
  if (load.rejections.length > 0) testbed.violations.push('events of the backlog were rejected');
  const unclaimed = await withStore(testbed.url, (db) => countRows(db, UNCLAIMED));
  if (unclaimed < load.acknowledged.size) testbed.violations.push('most of the backlog was claimed and tested nothing');
}

async function killDuringCall(options: RunOptions, call: ManagementCall, { isTakenOver }: Variant): Promise<Finding> {
  await using testbed = await openSite(options);
  const site = new Site(testbed);
  const victim = await testbed.start({ BODY_SIGNATURE_HEADER: VICTIM_HEADER });
  const survivor = isTakenOver ? await testbed.start() : null;
  await call.prepare?.(site, victim.client);
  await acceptBacklog(site, victim);
  await call.ready?.(site, victim.client);
  const called = call.begin(site, victim.client).catch(() => undefined);
  site.open();
  await Bun.sleep(Math.random() * call.withinMs);
  await kill(victim);
  await called;
  await site.noteKill();
  testbed.violations.push(...(await auditAfterKill(testbed.url)));
  const { client } = survivor ?? (await testbed.start());
  await call.finish(site, client);
  await testbed.arrive(await site.leasedTargets());
  await testbed.expireLeasesNow();
  await testbed.recover();
  await call.check?.(site);
  testbed.violations.push(...(await site.audit()));
  return await testbed.finding();
}

async function killCommand(
  options: RunOptions,
  command: ManagementCommand,
  { isTakenOver }: Variant,
): Promise<Finding> {
  await using testbed = await openSite(options);
  const site = new Site(testbed);
  const server = await testbed.start({ BODY_SIGNATURE_HEADER: VICTIM_HEADER });
  await acceptBacklog(site, server);
  await command.ready(site, server.client);
  const start = () => testbed.instances.startCommand(command.arguments(site));
  const before = await countChanges(testbed, command);
  const [victim, other] = [start(), isTakenOver ? start() : null];
  await eventually(async () => victim.exitCode !== null || (await countChanges(testbed, command)) !== before);
  victim.kill('SIGKILL');
  await victim.exited;
  await site.noteKill();
  await expectSuccess(testbed, command.name, other ?? start(), start);
  if (other !== null) await expectSuccess(testbed, command.name, start(), start);
  await command.check(site);
  site.open();
  await testbed.recover();
  testbed.violations.push(...(await site.audit()));
  return await testbed.finding();
}

function countChanges(testbed: Testbed, { changes }: ManagementCommand): Promise<number> {
  return withStore(testbed.url, (db) => countRows(db, changes));
}

const MOST_TRIES = 3;
const SLOW_STORE = /unavailable|not available|not done within/;

/** Where the store did not respond in time, the command is repeated, as its operator would. */
async function expectSuccess(
  testbed: Testbed,
  name: string,
  process: Subprocess,
  again: () => Subprocess,
  triesLeft = MOST_TRIES,
): Promise<void> {
  const { stderr } = process;
  const [said, exitCode] = await Promise.all([stderr instanceof ReadableStream ? stderr.text() : '', process.exited]);
  if (exitCode === 0) return;
  if (SLOW_STORE.test(said) && triesLeft > 1) return expectSuccess(testbed, name, again(), again, triesLeft - 1);
  testbed.violations.push(`${name} ended with ${exitCode} beside one that was killed: ${said}`);
}
