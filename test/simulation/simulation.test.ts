import { expect, test } from 'bun:test';
import { simulate as runCommand } from './command.ts';

/** One seed a process: each takes one or two seconds of processor time, so that a busy machine stays within a test's time. */
async function simulate(seed: number) {
  const [run] = await runCommand('--seed', String(seed), '--operations', '25');
  return run;
}

let hash: string | undefined;

/** `simulation.long.test.ts` has more seeds. */
test('seed 17 breaks no law', async () => {
  const run = await simulate(17);
  expect(run).toMatchObject({ seed: 17, violations: [] });
  for (const law of ['L1', 'L2', 'L4', 'L7', 'L9', 'L12', 'L15']) expect(run?.checked[law] ?? 0).toBeGreaterThan(0);
  hash = run?.hash;
});

test('a seed gives the same run in a new process', async () => {
  expect(hash).toBeDefined();
  expect((await simulate(17))?.hash).toBe(hash);
});
