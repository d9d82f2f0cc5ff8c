import type { SqlInteger, SqlUuid } from '../../src/store/database/database.ts';
import { STATUS_CODES } from '../../src/store/deliveries/states.ts';
import type { Fault } from '../fault.ts';
import { DEFAULT_DATABASE_TIMEOUT } from '../harness/database-timeout.ts';
import { withStore } from '../harness/store-audit.ts';
import { kill, Testbed } from '../harness/testbed.ts';
import { eventually, waitUntil } from '../harness/waiting.ts';

/** In the log line about a late result, which names the reason of the rejection. */
const REJECTED = /another instance/g;

/**
 * The first instance is paused after it sent its requests and before a response. Its lease expires and another instance
 * delivers. When the first one resumes, its attempt times out and it tries to record that.
 */
export const instanceStalled: Fault = {
  name: 'stalled-instance',
  what: 'an instance is paused (SIGSTOP) past its lease and resumed: the fencing token rejects its late result',
  engines: ['postgres'],
  trials: { long: 5, short: 1 },
  run: async (options) => {
    // Long enough that the attempt is still in flight when the instance is paused, even on a slow machine.
    await using testbed = await Testbed.open(options, {
      settings: { DELIVERY_TIMEOUT: '5s', ...DEFAULT_DATABASE_TIMEOUT },
    });
    for (let round = 1; round <= options.trials; round++) {
      options.progress(`stall ${round} of ${options.trials}`);
      await stallOnce(testbed);
    }
    testbed.violations.push(...(await wrongRows(testbed.url)));
    return await testbed.finding();
  },
};

async function stallOnce(testbed: Testbed): Promise<void> {
  const { ledger } = testbed;
  const stalled = await testbed.start();
  // A destination that has not responded yet gets one request at a time, and here three have to be in flight.
  ledger.reply = () => new Response('ok');
  await testbed.load([stalled.client], { most: 5 }).ended;
  await waitUntil('the destination is proven', () => testbed.hasAllArrived());
  // The first request of a delivery never gets a response, the second gets it at once.
  ledger.reply = (_request, earlier) => (earlier === 0 ? new Promise(() => undefined) : new Response('ok'));
  const before = ledger.requests.length;
  const load = testbed.load([stalled.client], { most: 1 });
  await load.ended;
  await waitUntil('every webhook has a request', () => ledger.requests.length === before + 3);
  stalled.served.child.kill('SIGSTOP');
  const stalledAtMs = performance.now();
  await testbed.expireLeases();
  const other = await testbed.start();
  await waitUntil('the other instance has sent them', () => ledger.requests.length >= before + 6);
  await testbed.recover(stalledAtMs);
  stalled.served.child.kill('SIGCONT');
  const rejected = () => stalled.served.stdout().match(REJECTED)?.length ?? 0;
  if (!(await eventually(() => rejected() >= 3))) {
    testbed.violations.push(`${rejected()} of 3 late results were rejected`);
  }
  await Promise.all([kill(stalled), kill(other)]);
}

/** The late result is not in the store: each delivery has one attempt, with the response 200. */
function wrongRows(url: string): Promise<string[]> {
  return withStore(url, async (db) => {
    const rows = await db.all<{ id: SqlUuid; status: SqlInteger; attempts: SqlInteger }>(
      `select id, status, attempts from deliveries
       where status <> ${STATUS_CODES.delivered} or attempts <> 1 or status_code is null or status_code <> 200
       union all select id, 0 as status, attempts from queue`,
    );
    return rows.map(({ id, status, attempts }) => `${db.dialect.hexOf(id)} has status ${status}, ${attempts} attempts`);
  });
}
