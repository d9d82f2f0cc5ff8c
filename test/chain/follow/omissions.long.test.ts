import { expect, test } from 'bun:test';
import { ForkTrial } from '../../support/chain/fork-trial.ts';

/** Half of the logs are left out of 30 % of the responses. */
const omission = { responses: 30, logs: 50 };

test('case 7: a node that leaves half of the logs out of 30 % of its responses, 1,500 blocks and 100 forks', async () => {
  const trial = new ForkTrial({ nodes: [{ omission }], seed: 7, forks: 100, blocksBetween: 12 });
  await trial.run();
  expect(trial.chain.head).toBeGreaterThan(1_300);
  expect(trial.followed.results.reduce((sum, { omissions }) => sum + omissions, 0)).toBeGreaterThan(1_000);
  expect(trial.followed.mistakes()).toEqual([]);
  expect(trial.falseRetractions).toBe(0);
});
