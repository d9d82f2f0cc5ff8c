import type { Fault } from '../../fault.ts';
import { DEFAULT_DATABASE_TIMEOUT } from '../../harness/database-timeout.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { ChainSite } from './chain-site.ts';

const FORKING_MS = { long: 4_000, short: 1_500 };
const STOPPED_MS = { long: 5_000, short: 1_000 };
/** Longer than the lease of a network and than the deadline of a call to the store. */
const PAUSED_MS = 8_000;

/** In odd rounds PostgreSQL is stopped, in even ones paused. The service is never restarted, and the network goes on. */
export const storeLostWhileFollowing: Fault = {
  name: 'chain-store-outage',
  what: 'PostgreSQL is stopped and started again, or paused (SIGSTOP) and resumed, while a network with payments and forks is followed',
  engines: ['postgres'],
  trials: { long: 6, short: 2 },
  run: async (options) => {
    await using server = await PostgresServer.start();
    await using site = await ChainSite.open(options, {
      settings: { DATABASE_URL: await server.createDatabase(), ...DEFAULT_DATABASE_TIMEOUT },
    });
    const [network] = site.networks;
    if (network === undefined) return null;
    const { served } = await site.start();
    for (let round = 1; round <= options.trials; round++) {
      options.progress(`outage ${round} of ${options.trials}, after ${network.forks} forks`);
      network.mood = 'forking';
      await Bun.sleep(options.fast ? FORKING_MS.short : FORKING_MS.long);
      if (round % 2 === 1) {
        await server.stop();
        await Bun.sleep(options.fast ? STOPPED_MS.short : STOPPED_MS.long);
        await server.startAgain();
      } else {
        const resume = await server.pause();
        await Bun.sleep(PAUSED_MS).finally(resume);
      }
      await site.probe(network);
    }
    if (served.child.exitCode !== null) site.violations.push('the service exited');
    await site.settle();
    return await site.finding();
  },
};
