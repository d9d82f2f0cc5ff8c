import type { Fault, Trial } from './fault.ts';
import { wrongRefusals } from './load.ts';
import { PostgresServer } from './postgres-server.ts';
import { Scene } from './scene.ts';
import { mustComeTrue } from './waiting.ts';

/** PostgreSQL goes away under load and comes back; the service is never restarted. */

type Outage = {
  /** Resolves when the server is there again. */
  inflict: (server: PostgresServer, outage: { trial: Trial; duringIt: () => Promise<void> }) => Promise<void>;
  mustRefuse: boolean;
};

/** Longer than the deadline of a call to the store, so that every sender sees one refused. */
const PAUSE_MS = 8_000;
const STOPPED_MS = { long: 5_000, short: 1_000 };

export const postgresStopped: Fault = outageFault(
  'postgres-stopped',
  'PostgreSQL is stopped and started again after a while',
  {
    mustRefuse: true,
    inflict: async (server, { trial, duringIt }) => {
      await server.stop();
      await duringIt();
      await Bun.sleep(trial.hurry ? STOPPED_MS.short : STOPPED_MS.long);
      await server.startAgain();
    },
  },
);

export const postgresRestarted: Fault = outageFault('postgres-restarted', 'PostgreSQL crashes and is started at once', {
  mustRefuse: false,
  inflict: (server) => server.restartImmediately(),
});

export const postgresPaused: Fault = outageFault('postgres-paused', 'PostgreSQL is paused (SIGSTOP) and resumed', {
  mustRefuse: true,
  inflict: async (server, { duringIt }) => {
    const resume = await server.pause();
    try {
      await Promise.all([duringIt(), Bun.sleep(PAUSE_MS)]);
    } finally {
      resume();
    }
  },
});

function outageFault(name: string, what: string, { inflict, mustRefuse }: Outage): Fault {
  return {
    name,
    what: `${what}, under load`,
    engines: ['postgres'],
    tries: { long: 5, short: 1 },
    run: async (trial) => {
      await using server = await PostgresServer.start();
      await using scene = await Scene.open(trial, { settings: { DATABASE_URL: await server.createDatabase() } });
      const { client, served } = await scene.start();
      const statusOf = async (path: string) => (await fetch(served.url + path)).status;
      const duringIt = async () => {
        await mustComeTrue('the service says that it is not ready', async () => (await statusOf('/readyz')) === 503);
        if ((await statusOf('/healthz')) !== 200)
          scene.broken.push('/healthz failed, and a supervisor would restart it');
      };
      for (let round = 1; round <= trial.tries; round++) {
        trial.note(`outage ${round} of ${trial.tries}`);
        const load = scene.load([client], { atATime: 8, restMs: 10 });
        await mustComeTrue('events are accepted', () => load.acknowledged.size >= 50);
        await inflict(server, { trial, duringIt });
        const backAtMs = performance.now();
        const before = load.acknowledged.size;
        await mustComeTrue('events are accepted again', () => load.acknowledged.size >= before + 20);
        await load.stop();
        scene.broken.push(...wrongRefusals(load.refusals));
        if (mustRefuse && load.refusals.length === 0) scene.broken.push('nothing was refused: there was no outage');
        if (load.unanswered.length > 0) scene.broken.push(`${load.unanswered.length} requests got no answer at all`);
        await scene.recover(backAtMs);
      }
      if (served.child.exitCode !== null) scene.broken.push('the service ended');
      return await scene.finding();
    },
  };
}
