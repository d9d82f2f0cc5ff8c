import { expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { tempBase } from '../support/temp-base.ts';
import { until } from '../support/until.ts';
import { simulate, startSimulator } from './command.ts';
import { type FailedSeed, isFailed, type SeedResult } from './job.ts';
import { problemsOf } from './problems.ts';

const LONGEST_MS = 1_800_000;

test('a seed breaks no law within 25 operations either, and another seed gives another run', async () => {
  const runs = await Promise.all([17, 14].map((seed) => simulate('--seed', String(seed), '--operations', '25')));
  const [one, other] = runs.flat();
  expect(other).toMatchObject({ seed: 14, violations: [] });
  for (const law of ['L1', 'L2', 'L4', 'L7', 'L9', 'L12', 'L15']) expect(other?.checked[law] ?? 0).toBeGreaterThan(0);
  expect(other?.hash).not.toBe(one?.hash);
});

test(
  '200 seeds break no law on SQLite',
  async () => {
    const results = await simulate('--seeds', '1..200');
    expect(problemsOf(results)).toEqual([]);
    expect(results).toHaveLength(200);
  },
  LONGEST_MS,
);

test(
  '10 seeds break no law on PostgreSQL with two instances',
  async () => {
    const results = await simulate('--seeds', '1..10', '--engine', 'postgres', '--instances', '2');
    expect(problemsOf(results)).toEqual([]);
    expect(results).toHaveLength(10);
  },
  LONGEST_MS,
);

test('a run that was killed continues with the seeds that it had not finished', async () => {
  const folder = mkdtempSync(join(tempBase(), 'paybell-stopped-'));
  const out = join(folder, 'results.json');
  const lines = () => (existsSync(out) ? readFileSync(out, 'utf8').split('\n').slice(1, -1) : []);
  const args = ['--seeds', '1..6', '--operations', '30', '--processes', '1'];
  const stopped = startSimulator(...args, '--out', out);
  await until('two seeds are finished', () => lines().length >= 2);
  stopped.kill('SIGKILL');
  await stopped.exited;
  const finished = lines();
  expect(finished.length).toBeLessThan(6);
  const continued = await simulate(...args, '--out', out);
  expect(lines().slice(0, finished.length)).toEqual(finished);
  expect(lines()).toHaveLength(6);
  const hashesOf = (results: readonly (SeedResult | FailedSeed)[]) =>
    results.map((one) => (isFailed(one) ? one.failure : one.hash));
  expect(hashesOf(continued)).toEqual(hashesOf(await simulate(...args)));
  rmSync(folder, { recursive: true });
});
