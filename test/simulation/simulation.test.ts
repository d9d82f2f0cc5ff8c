import { expect, test } from 'bun:test';
import { simulate as runCommand } from './command.ts';

/** One seed a process: each takes one or two seconds of processor time, so that a busy machine stays within a test's time. */
async function simulate(seed: number) {
  const [run] = await runCommand('--seed', String(seed), '--operations', '25');
  return run;
}

const hashes = new Map<number, string | undefined>();

test.each([17, 14])('seed %d breaks no law', async (seed) => {
  const run = await simulate(seed);
  expect(run).toMatchObject({ seed, violations: [] });
  for (const law of ['L1', 'L2', 'L4', 'L7', 'L9', 'L12', 'L15']) expect(run?.checked[law] ?? 0).toBeGreaterThan(0);
  hashes.set(seed, run?.hash);
});

test('a seed gives the same run in a new process, and another seed gives another', async () => {
  const again = await simulate(17);
  expect(again?.hash).toBe(hashes.get(17));
  expect(again?.hash).not.toBe(hashes.get(14));
});
