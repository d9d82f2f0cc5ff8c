import { expect, test } from 'bun:test';
import { simulate } from './command.ts';
import { problemsOf } from './problems.ts';

const LONGEST_MS = 1_800_000;

async function simulateShortly(seed: number) {
  const [run] = await simulate('--network', 'solana', '--seed', String(seed), '--operations', '25');
  return run;
}

const hashes = new Map<number, string | undefined>();

test.each([4, 6])('seed %d breaks no law on Solana within 25 operations', async (seed) => {
  const run = await simulateShortly(seed);
  expect(run).toMatchObject({ seed, violations: [], unexpected: [] });
  for (const law of ['L1', 'L2', 'L4', 'L5', 'L6', 'L7', 'L9', 'L12'])
    expect(run?.checked[law] ?? 0).toBeGreaterThan(0);
  hashes.set(seed, run?.hash);
});

test('a seed of Solana gives the same run in a new process', async () => {
  expect((await simulateShortly(4))?.hash).toBe(hashes.get(4));
  expect(hashes.get(4)).not.toBe(hashes.get(6));
});

test(
  '50 seeds break no law on Solana, and lose, bring back and retract payments',
  async () => {
    const results = await simulate('--network', 'solana', '--seeds', '1..50');
    expect(problemsOf(results)).toEqual([]);
    expect(results).toHaveLength(50);
    const sum = (name: string) => results.reduce((total, { occurred }) => total + (occurred[name] ?? 0), 0);
    const names = [
      'payment',
      'drop',
      'bring-back',
      'reorder',
      'hold',
      'follow',
      'unfollow',
      'kill',
      'freeze',
      'node-denies',
    ];
    expect(names.filter((name) => sum(name) < 3)).toEqual([]);
    const checked = (law: string) => results.reduce((total, one) => total + (one.checked[law] ?? 0), 0);
    expect(['L4', 'L5', 'L6'].filter((law) => checked(law) < 50)).toEqual([]);
  },
  LONGEST_MS,
);

test(
  '2 seeds break no law on Solana with PostgreSQL and two instances',
  async () => {
    const args = ['--seeds', '1..2', '--engine', 'postgres', '--instances', '2'];
    const results = await simulate('--network', 'solana', ...args);
    expect(problemsOf(results)).toEqual([]);
    expect(results).toHaveLength(2);
  },
  LONGEST_MS,
);
