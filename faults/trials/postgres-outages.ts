import type { Fault, RunOptions } from '../fault.ts';
import { DEFAULT_DATABASE_TIMEOUT } from '../harness/database-timeout.ts';
import { wrongRejections } from '../harness/load.ts';
import { PostgresServer } from '../harness/postgres-server.ts';
import { Testbed } from '../harness/testbed.ts';
import { waitUntil } from '../harness/waiting.ts';

/** Outages of PostgreSQL under load. The service is never restarted. */

type Outage = {
  /** Resolves when the server is available again. */
  inject: (server: PostgresServer, outage: { options: RunOptions; duringOutage: () => Promise<void> }) => Promise<void>;
  mustReject: boolean;
};

/** Longer than the deadline of a call to the store, so that every sender has a request rejected. */
const PAUSE_MS = 8_000;
const STOPPED_MS = { long: 5_000, short: 1_000 };

export const postgresStopped: Fault = outageFault(
  'postgres-stopped',
  'PostgreSQL is stopped and started again after a while',
  {
    mustReject: true,
    inject: async (server, { options, duringOutage }) => {
      await server.stop();
      await duringOutage();
      await Bun.sleep(options.fast ? STOPPED_MS.short : STOPPED_MS.long);
      await server.startAgain();
    },
  },
);

export const postgresRestarted: Fault = outageFault('postgres-restarted', 'PostgreSQL crashes and is started at once', {
  mustReject: false,
  inject: (server) => server.restartImmediately(),
});

export const postgresPaused: Fault = outageFault('postgres-paused', 'PostgreSQL is paused (SIGSTOP) and resumed', {
  mustReject: true,
  inject: async (server, { duringOutage }) => {
    const resume = await server.pause();
    try {
      await Promise.all([duringOutage(), Bun.sleep(PAUSE_MS)]);
    } finally {
      resume();
    }
  },
});

function outageFault(name: string, what: string, { inject, mustReject }: Outage): Fault {
  return {
    name,
    what: `${what}, under load`,
    engines: ['postgres'],
    trials: { long: 5, short: 1 },
    run: async (options) => {
      await using server = await PostgresServer.start();
      await using testbed = await Testbed.open(options, {
        settings: { DATABASE_URL: await server.createDatabase(), ...DEFAULT_DATABASE_TIMEOUT },
      });
      const { client, served } = await testbed.start();
      const statusOf = async (path: string) => (await fetch(served.url + path)).status;
      const duringOutage = async () => {
        await waitUntil('/readyz returns 503', async () => (await statusOf('/readyz')) === 503);
        if ((await statusOf('/healthz')) !== 200)
          testbed.violations.push('/healthz failed, so a supervisor would restart the service');
      };
      for (let round = 1; round <= options.trials; round++) {
        options.progress(`outage ${round} of ${options.trials}`);
        const load = testbed.load([client], { concurrency: 8, pauseMs: 10 });
        await waitUntil('events are accepted', () => load.acknowledged.size >= 50);
        await inject(server, { options, duringOutage });
        const backAtMs = performance.now();
        const before = load.acknowledged.size;
        await waitUntil('events are accepted again', () => load.acknowledged.size >= before + 20);
        await load.stop();
        testbed.violations.push(...wrongRejections(load.rejections));
        if (mustReject && load.rejections.length === 0)
          testbed.violations.push('no event was rejected, so there was no outage');
        if (load.withoutResponse.length > 0)
          testbed.violations.push(`${load.withoutResponse.length} requests got no response`);
        await testbed.recover(backAtMs);
      }
      if (served.child.exitCode !== null) testbed.violations.push('the service exited');
      return await testbed.finding();
    },
  };
}
