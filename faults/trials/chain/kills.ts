import type { Instance } from '../../../test/support/instances.ts';
import { ENGINES } from '../../../test/support/stores.ts';
import type { Fault } from '../../fault.ts';
import { auditAfterKill } from '../../harness/store-audit.ts';
import { kill, randomUpTo } from '../../harness/testbed.ts';
import { waitUntil } from '../../harness/waiting.ts';
import { ChainSite } from './chain-site.ts';

/** A poll writes what it has read, and accepts the events, within this time on most machines. */
const WRITES_WITHIN_MS = 120;
const MOST_READS = 4;
const AUDIT_EVERY = 20;

/**
 * All kills share one store, and the network goes on: each start finds what the kill before it left. On PostgreSQL a second
 * instance takes over.
 */
export const killedWhileFollowing: Fault = {
  name: 'chain-kill',
  what: 'SIGKILL while a network with payments and forks is followed through nodes that answer 429, by two instances on PostgreSQL',
  engines: ENGINES,
  trials: { long: 200, short: 3 },
  run: async (options) => {
    await using site = await ChainSite.open(options);
    const [network] = site.networks;
    if (network === undefined) return null;
    const nodes = site.nodesOf(network);
    const reads = () => nodes.reduce((sum, node) => sum + node.reads, 0);
    const count = options.engine === 'postgres' ? 2 : 1;
    let running: Instance[] = [];
    site.mood = 'forking';
    for (let round = 1; round <= options.trials; round++) {
      options.progress(`kill ${round} of ${options.trials}, after ${network.forks} forks`);
      while (running.length < count) running.push(await site.start());
      const before = reads() + randomUpTo(MOST_READS);
      await waitUntil('the network is read', () => reads() >= before);
      await Bun.sleep(randomUpTo(WRITES_WITHIN_MS));
      const isAudit = round % AUDIT_EVERY === 0;
      const killed = isAudit ? running : running.splice(randomUpTo(running.length) - 1, 1);
      for (const instance of killed) await kill(instance);
      if (isAudit) {
        running = [];
        site.violations.push(...(await auditAfterKill(site.url)));
      }
      await site.expireLeases();
    }
    const killedAtMs = performance.now();
    if (running.length === 0) await site.start();
    await site.probe(network, killedAtMs);
    await site.settle();
    options.progress(`${network.forks} forks`);
    return await site.finding();
  },
};
