import { workerPids } from '../../test/support/worker-pids.ts';
import type { Fault } from '../fault.ts';
import { randomUpTo, Testbed } from '../harness/testbed.ts';
import { waitUntil } from '../harness/waiting.ts';

const WORKERS = 3;
const LOAD = { concurrency: 8, most: 300, pauseMs: 5 };

/** Three processes behind one port: one is killed, its supervisor starts another, and the two others go on meanwhile. */
export const workerKilled: Fault = {
  name: 'worker-kill',
  what: 'one of three workers of a service (`WORKERS=3`) is killed under load, and its supervisor starts another',
  engines: ['postgres'],
  trials: { long: 20, short: 1 },
  run: async (options) => {
    // The processes of the workers are in the log.
    const settings = { WORKERS: String(WORKERS), LOG_LEVEL: 'info' };
    await using testbed = await Testbed.open(options, { settings });
    const { client, served } = await testbed.start();
    await waitUntil('every worker is running', () => workerPids(served).size === WORKERS);
    for (let round = 1; round <= options.trials; round++) {
      options.progress(`kill ${round} of ${options.trials}`);
      const busyAfter = testbed.ledger.requests.length + 60 + randomUpTo(100);
      const load = testbed.load([client], LOAD);
      await waitUntil('the receivers are busy', () => testbed.ledger.requests.length >= busyAfter);
      const victim = 1 + (round % WORKERS);
      const pid = workerPids(served).get(victim) ?? 0;
      process.kill(pid, 'SIGKILL');
      const killedAtMs = performance.now();
      await waitUntil('the worker is replaced', () => workerPids(served).get(victim) !== pid);
      await load.ended;
      if (load.rejections.length > 0) testbed.violations.push('events were rejected while two workers were running');
      await testbed.expireLeases();
      // With the leases of the killed worker ended at once, only the machine would be timed.
      await testbed.recover(options.fast ? performance.now() : killedAtMs);
    }
    return await testbed.finding();
  },
};
