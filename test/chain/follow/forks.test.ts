import { describe, expect, test } from 'bun:test';
import type { Decoder } from '../../../src/chain/evm/decode/decoder.ts';
import { ForkTrial, type TrialOptions } from '../../support/chain/fork-trial.ts';
import { modelDecoder, modelFacts } from '../../support/chain/model-decoder.ts';
import { NaiveFollower } from '../../support/chain/naive-follower.ts';
import { suiteRuns } from '../../support/suite.ts';

/** Half of the logs are left out of 30 % of the responses. */
const omission = { responses: 30, logs: 50 };

type Network = Omit<TrialOptions, 'seed' | 'forks'>;

const NETWORKS: Readonly<Record<string, Network>> = {
  'two nodes, one of them behind and rate limited': { nodes: [{ omission }, { omission, rateLimited: 10, lag: 2 }] },
  'one node that fails often': { nodes: [{ omission, rateLimited: 5, garbage: 5, unreachable: 5 }] },
  'one URL with a node that is five heads behind': {
    nodes: [{ omission }, { omission, lag: 5 }],
    isBalanced: true,
  },
  'three nodes without tags': {
    nodes: [{ omission, rateLimited: 10 }, { omission, lag: 1 }, { garbage: 10 }],
    finalityDepth: 16,
  },
};
const SEEDS = [1, 2, 3, 4, 5].slice(0, suiteRuns(1, 5));
const FORKS = suiteRuns(50, 500);
const [FIRST] = Object.values(NETWORKS);

type Findings = { readonly mistakes: readonly string[]; readonly falseRetractions: number };

async function follow(network: Network, seed: number, forks: number): Promise<Findings> {
  const trial = new ForkTrial({ ...network, seed, forks });
  // An illegal transition, or a fact that is lost below finality, throws.
  await trial.run();
  const { retracted, moved } = trial.followed.store.counts;
  expect(Math.min(retracted, moved)).toBeGreaterThan(forks / 20);
  return { mistakes: trial.followed.mistakes(), falseRetractions: trial.falseRetractions };
}

describe.each(Object.entries(NETWORKS))('with %s', (_, network) => {
  test.each(SEEDS)('the forks of seed %d leave the facts that the chain has, and no false retraction', async (seed) => {
    expect(await follow(network, seed, FORKS)).toEqual({ mistakes: [], falseRetractions: 0 });
  });
});

test('a follower that trusts the logs of a response alone fails this property', async () => {
  let mistakes = 0;
  let falseRetractions = 0;
  for (const seed of [1, 2, 3].slice(0, suiteRuns(1, 3))) {
    const trial = new ForkTrial({ nodes: [{ omission }], seed, forks: 100 });
    trial.followed.follower = new NaiveFollower(trial.followed.store, trial.followed.nodes);
    await trial.run();
    mistakes += trial.followed.mistakes().length;
    falseRetractions += trial.falseRetractions;
  }
  expect(mistakes).toBeGreaterThan(0);
  expect(falseRetractions).toBeGreaterThan(10);
});

test('a fact whose identity has the block in it fails this property', async () => {
  const byBlock: Decoder = {
    ...modelDecoder,
    decode: async (logs, sources) =>
      modelFacts(logs, sources).map((fact) => ({
        ...fact,
        factId: `${fact.factId}_${fact.position.blockHash.slice(-6)}`,
      })),
  };
  const trial = new ForkTrial({ ...(FIRST ?? { nodes: [{}] }), decoder: byBlock, seed: 1, forks: 100 });
  await trial.run();
  expect(trial.falseRetractions).toBeGreaterThan(100);
});
