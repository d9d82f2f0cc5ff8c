import type { Client } from '../../test/support/service.ts';
import { type Fault, type Finding, type RunOptions, sumFindings } from '../fault.ts';
import { kill, randomUpTo, Testbed } from '../harness/testbed.ts';
import { waitUntil } from '../harness/waiting.ts';

/** Of all instances together, in turn: fewer than there are instances, and two for each. */
const CAPS = [2, 6];
const INSTANCES = 3;
/** As many as the load may have in the queue, so that receivers are busy and a trial ends soon. */
const LOAD = { concurrency: 8, most: 100, pauseMs: 5 };

/** Three instances deliver from one PostgreSQL and share a cap; one is killed, and another one takes its place. */
export const oneOfThreeKilled: Fault = {
  name: 'fleet-kill',
  what: 'one of three instances is killed under load and replaced: no receiver has more requests at a time than `DESTINATION_CONCURRENCY`, which is 2 or 6 for all instances together',
  engines: ['postgres'],
  trials: { long: 20, short: 1 },
  run: async (options) => {
    const findings: Finding[] = [];
    for (let trial = 0; trial < options.trials; trial++) {
      options.progress(`kill ${trial + 1} of ${options.trials}`);
      findings.push(await killOne(options, CAPS[trial % CAPS.length] ?? 1));
    }
    return sumFindings(findings);
  },
};

async function killOne(options: RunOptions, cap: number): Promise<Finding> {
  const settings = { DESTINATION_CONCURRENCY: String(cap) };
  // Each webhook is at a destination of its own.
  await using testbed = await Testbed.open(options, { settings, destinations: 3 });
  const most = countRequestsAtATime(testbed);
  const victim = await testbed.start();
  const others = [await testbed.start(), await testbed.start()];
  const clients = [victim, ...others].map(({ client }) => client);
  for (const client of clients) await waitUntil('each knows of the others', async () => knows(client, INSTANCES));
  const before = testbed.load(clients, LOAD);
  const busyAfter = 60 + randomUpTo(100);
  await waitUntil('the receivers are busy', () => testbed.ledger.requests.length >= busyAfter);
  await kill(victim);
  const killedAtMs = performance.now();
  await before.stop();
  const after = testbed.load(clients.slice(1), LOAD);
  const replacement = await testbed.start();
  await after.stop();
  const last = testbed.load([...clients.slice(1), replacement.client], LOAD);
  await last.ended;
  await testbed.expireLeases();
  // With the leases of the killed instance ended at once, only the machine would be timed.
  await testbed.recover(options.fast ? performance.now() : killedAtMs);
  if (most() > cap) testbed.violations.push(`a receiver had ${most()} requests at a time, and the cap is ${cap}`);
  return await testbed.finding();
}

/** Returns the most that any of them had. A request of the killed instance counts until it would have been answered. */
function countRequestsAtATime({ ledger }: Testbed): () => number {
  const inFlight = new Map<string, number>();
  let most = 0;
  ledger.reply = async ({ path }) => {
    const now = (inFlight.get(path) ?? 0) + 1;
    inFlight.set(path, now);
    most = Math.max(most, now);
    await Bun.sleep(randomUpTo(20));
    inFlight.set(path, (inFlight.get(path) ?? 0) - 1);
    return new Response('ok');
  };
  return () => most;
}

async function knows(client: Client, instances: number): Promise<boolean> {
  const response = await fetch(new URL('/metrics', client.url));
  return (await response.text()).includes(`\npaybell_instances ${instances}\n`);
}
