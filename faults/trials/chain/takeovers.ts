import type { Instance } from '../../../test/support/instances.ts';
import type { Fault, Finding, RunOptions } from '../../fault.ts';
import { DEFAULT_DATABASE_TIMEOUT } from '../../harness/database-timeout.ts';
import { Stillness } from '../../harness/stillness.ts';
import { kill } from '../../harness/testbed.ts';
import { waitUntil } from '../../harness/waiting.ts';
import { ChainSite } from './chain-site.ts';
import type { HttpNode } from './http-node.ts';
import type { FaultyNetwork } from './network.ts';

/** Time for a resumed process to write what it had read before it was paused. */
const LATE_WRITE_MS = 2_500;
/** A lease is 6 s and renewed each 1.5 s. */
const LONGEST_STILL_MS = 1_000;
const FORKING_MS = { long: 4_000, short: 1_500 };

/** A process with nodes of its own, so that these tell which process follows the network. */
type Follower = { readonly instance: Instance; readonly nodes: readonly HttpNode[] };

/**
 * Of two processes one follows the network. In odd rounds it is killed. In even rounds it is paused when it has been sent a
 * block with a payment, which the network then drops: when it resumes, it holds logs of a block that is gone.
 */
export const oneOfTwoFollowersStopped: Fault = {
  name: 'chain-two-instances',
  what: 'of two instances, the one that follows a network with forks is killed, or paused past its lease and resumed: the other goes on, and the token rejects the late write',
  engines: ['postgres'],
  trials: { long: 10, short: 2 },
  run: (options) => throughTakeovers(options),
};

/** A test holds the trial to it that it finds a store that does not check the token. */
async function throughTakeovers(options: RunOptions, settings: Record<string, string> = {}): Promise<Finding> {
  await using site = await ChainSite.open(options, { settings: { ...DEFAULT_DATABASE_TIMEOUT, ...settings } });
  const [network] = site.networks;
  if (network === undefined) throw new Error('the site has no network');
  const start = async (): Promise<Follower> => {
    const nodes = [network.openNode(), network.openNode()];
    return { nodes, instance: await site.start(() => nodes) };
  };
  let followers: [Follower, Follower] = [await start(), await start()];
  for (let round = 1; round <= options.trials; round++) {
    options.progress(`takeover ${round} of ${options.trials}, after ${network.forks} forks`);
    network.mood = 'forking';
    await Bun.sleep(options.fast ? FORKING_MS.short : FORKING_MS.long);
    const [holder, other] = await inTurn(followers);
    if (round % 2 === 1) {
      await killHolder(site, network, holder);
      followers = [other, await start()];
    } else {
      await stallHolder(site, network, holder, other);
    }
  }
  await site.settle();
  return await site.finding();
}

const looksOf = ({ nodes }: Follower) => nodes.reduce((sum, { looks }) => sum + looks, 0);

/** The one that follows the network now comes first. */
async function inTurn([one, two]: readonly [Follower, Follower]): Promise<[Follower, Follower]> {
  const before = [looksOf(one), looksOf(two)] as const;
  await waitUntil('a process follows the network', () => looksOf(one) > before[0] || looksOf(two) > before[1]);
  return looksOf(one) > before[0] ? [one, two] : [two, one];
}

async function killHolder(site: ChainSite, network: FaultyNetwork, holder: Follower): Promise<void> {
  await kill(holder.instance);
  const killedAtMs = performance.now();
  if (site.options.fast) await site.expireLeases();
  await site.probe(network, killedAtMs);
}

async function stallHolder(site: ChainSite, network: FaultyNetwork, holder: Follower, other: Follower): Promise<void> {
  network.mood = 'still';
  const dropped = network.payment();
  const stalled = Promise.withResolvers<void>();
  const { child } = holder.instance.served;
  for (const node of holder.nodes) {
    node.onResponse = (text) => {
      if (!text.includes(dropped.hash)) return;
      // The response is on its way to a process that does not read it yet.
      child.kill('SIGSTOP');
      stalled.resolve();
    };
  }
  network.chain.mine([dropped]);
  await stalled.promise;
  const stalledAtMs = performance.now();
  for (const node of holder.nodes) node.onResponse = null;
  network.chain.fork(1, [[], []]);
  const before = looksOf(other);
  const tokenBefore = (await site.stateOf(network))?.token;
  if (site.options.fast) await site.expireLeases();
  const tokenNow = async () => (await site.stateOf(network))?.token;
  await waitUntil('the other process has taken the network', async () => (await tokenNow()) !== tokenBefore);
  const token = await tokenNow();
  const stillness = new Stillness();
  // At once: a request to a node ends after 10 s, and then its response would be dropped.
  child.kill('SIGCONT');
  await site.probe(network, stalledAtMs);
  if (looksOf(other) === before) site.violations.push('the other process did not follow the network');
  await Bun.sleep(LATE_WRITE_MS);
  site.told.read();
  if (site.told.isHeardOf(network.networkId, dropped.hash))
    site.violations.push('a payment was told by a process whose lease had ended, after the network had dropped it');
  const hasChangedHands = (await tokenNow()) !== token;
  // Where the whole machine stood still, the follower may have lost its lease.
  if (stillness.longestMs() < LONGEST_STILL_MS && hasChangedHands)
    site.violations.push('the network changed hands although its follower went on');
}
