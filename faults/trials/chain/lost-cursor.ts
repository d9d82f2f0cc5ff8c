import { ENGINES } from '../../../test/support/stores.ts';
import type { Fault, Finding, RunOptions } from '../../fault.ts';
import { kill, randomUpTo } from '../../harness/testbed.ts';
import { ChainSite } from './chain-site.ts';
import { FINALITY_BLOCKS } from './network.ts';

const FORKING_MS = 4_000;
const MOST_BLOCKS_MISSED = 3 * FINALITY_BLOCKS;

/**
 * How far the network was read is deleted, as where a table was restored from an older backup. Every other time the network
 * goes on without the service, past finality, with forks of the blocks that it had read.
 */
export const cursorLost: Fault = {
  name: 'chain-lost-cursor',
  what: 'how far a network was read is deleted while the service is down: nothing is told twice and nothing is missed',
  engines: ENGINES,
  trials: { long: 20, short: 2 },
  run: (options) => throughLosses(options),
};

async function throughLosses(options: RunOptions, settings: Record<string, string> = {}): Promise<Finding> {
  await using site = await ChainSite.open(options, { settings });
  const [network] = site.networks;
  if (network === undefined) throw new Error('the site has no network');
  let instance = await site.start();
  for (let round = 1; round <= options.trials; round++) {
    options.progress(`loss ${round} of ${options.trials}, after ${network.forks} forks`);
    network.mood = 'forking';
    await Bun.sleep(FORKING_MS);
    network.mood = 'still';
    if (Math.random() < 0.5) await kill(instance);
    else await instance.served.stop('SIGTERM');
    await site.write('delete from chains', 'delete from chain_anchors');
    await site.expireLeases();
    network.mood = 'forking';
    if (round % 2 === 0) for (let block = randomUpTo(MOST_BLOCKS_MISSED); block > 0; block--) network.step();
    const lostAtMs = performance.now();
    instance = await site.start();
    await site.probe(network, lostAtMs);
  }
  await site.settle();
  return await site.finding();
}
