import { ENGINES } from '../../../test/support/stores.ts';
import { type Fault, type Finding, type RunOptions, sumFindings } from '../../fault.ts';
import { countRows, withStore } from '../../harness/store-audit.ts';
import { eventually, waitUntil } from '../../harness/waiting.ts';
import { ChainSite } from './chain-site.ts';
import type { FaultyNetwork } from './network.ts';
import { keyOf } from './told.ts';

const FORKING_MS = 3_000;
const HALTED_MS = 4_000;
/** The first finds that no block above finality is left, and the second confirms it: one is in doubt before it is halted. */
const POLLS_IN_DOUBT = 1;

/** A network replaces the last block that was final, and the payment in it is gone. Another network goes on beside it. */
export const networkReorganisedDeeply: Fault = {
  name: 'chain-deep-reorg',
  what: 'a network replaces a block that was final: it is halted within two polls with one alert, another network goes on, and so does this one when an operator resumes it',
  engines: ENGINES,
  trials: { long: 5, short: 1 },
  run: async (options) => {
    const findings: Finding[] = [];
    for (let round = 1; round <= options.trials; round++) {
      options.progress(`reorganisation ${round} of ${options.trials}`);
      findings.push(await throughDeepReorg(options));
    }
    return sumFindings(findings);
  },
};

async function throughDeepReorg(options: RunOptions, settings: Record<string, string> = {}): Promise<Finding> {
  await using site = await ChainSite.open(options, { networkIds: [8453, 137], settings });
  const [network, other] = site.networks;
  if (network === undefined || other === undefined) throw new Error('the site has two networks');
  const { served } = await site.start();
  site.mood = 'forking';
  await Bun.sleep(FORKING_MS);
  network.mood = 'calm';
  const undone = await replaceFinalBlock(site, network);
  await waitUntilHalted(site, network, served.url);
  const before = await eventsOf(site, network);
  // Payments go on in both networks.
  network.mood = 'forking';
  await Bun.sleep(HALTED_MS);
  other.mood = 'calm';
  await site.probe(other);
  other.mood = 'forking';
  if ((await eventsOf(site, network)) > before) site.violations.push('there were more events of a halted network');
  if (site.alerts.length !== 1 || !site.alerts[0]?.includes('"chain.halted"'))
    site.violations.push(`there were ${site.alerts.length} alerts instead of one: ${site.alerts.join(' ')}`);
  await site.resume(network, undone.blockNumber);
  await site.probe(network);
  await site.settle();
  // It is set aside, so nothing above waits for its retractions.
  await eventually(async () => wrongStories(site, network, undone.hash).length === 0);
  site.violations.push(...wrongStories(site, network, undone.hash));
  return await site.finding();
}

type Undone = { readonly hash: string; readonly blockNumber: number };

async function replaceFinalBlock(site: ChainSite, network: FaultyNetwork): Promise<Undone> {
  const { hash, logs } = network.payment();
  const { number: blockNumber } = network.chain.mine([{ hash, logs, isSuccess: true }]);
  site.setAside.add(keyOf(network.networkId, hash));
  const isFinal = async () => ((await site.stateOf(network))?.final ?? -1) >= blockNumber;
  await waitUntil('the block is final', isFinal);
  await waitUntil('the receivers know', () => storiesOf(site, network, hash).every(({ length }) => length === 2));
  network.mood = 'still';
  const depth = network.chain.head - blockNumber + 1;
  network.chain.fork(
    depth,
    Array.from({ length: depth + 1 }, () => []),
  );
  return { hash, blockNumber };
}

async function waitUntilHalted(site: ChainSite, network: FaultyNetwork, url: string): Promise<void> {
  const before = await pollsOf(network, url);
  const isHalted = async () => (await site.stateOf(network))?.isHalted === true;
  if (!(await eventually(isHalted))) site.violations.push('the network was not halted');
  const polls = (await pollsOf(network, url)) - before;
  // One may have been under way.
  if (polls > POLLS_IN_DOUBT + 1) site.violations.push(`the network was halted after ${polls} polls`);
}

/** Those that heard of blocks, and did not find the network halted. On a busy machine others fail, which is not their doing. */
async function pollsOf({ networkId }: FaultyNetwork, url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const series = new RegExp(`^paybell_chain_polls_total\\{network="${networkId}",outcome="(\\w+)"\\} (\\d+)$`, 'gm');
  const counts = new Map([...text.matchAll(series)].map(([, outcome, count]) => [outcome, Number(count)]));
  if (!counts.has('followed')) throw new Error('the metrics do not count the polls of the network');
  return ['followed', 'behind', 'in_doubt'].reduce((sum, outcome) => sum + (counts.get(outcome) ?? 0), 0);
}

/** How many events its facts have led to. */
function eventsOf(site: ChainSite, { networkId }: FaultyNetwork): Promise<number> {
  const sql = `select count(*) as count from fact_events where network_id = ${networkId}`;
  return withStore(site.url, (db) => countRows(db, sql));
}

/** The kinds of the events of a payment, for each receiver. */
function storiesOf({ told }: ChainSite, { networkId }: FaultyNetwork, hash: string): string[][] {
  told.read();
  return [...told.ledgers.values()].map((ledger) => ledger.of(keyOf(networkId, hash)).map(({ event }) => event));
}

/** What was final and is gone was taken back when the network was resumed: both what was processed and what was finalized. */
function wrongStories(site: ChainSite, network: FaultyNetwork, hash: string): string[] {
  const right = 'TransferProcessed, TransferFinalized, EventRetracted, EventRetracted';
  const stories = storiesOf(site, network, hash).map((events) => events.join(', '));
  return stories
    .filter((story) => story !== right)
    .map((story) => `a final payment that is gone was told as: ${story}`);
}
