import { expect, test } from 'bun:test';
import { resolve } from 'node:path';

/** The simulator replaces the timers and the clock of its process, so it runs as a command here. */

type Result = { seed: number; hash: string; violations: unknown[]; checked: Record<string, number> };

async function simulate(...args: string[]): Promise<Result[]> {
  const child = Bun.spawn([process.execPath, resolve(import.meta.dir, 'main.ts'), ...args, '--json'], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
  });
  const [text] = await Promise.all([child.stdout.text(), child.exited]);
  return (JSON.parse(text) as { results: Result[] }).results;
}

test('a seed gives the same run in a new process, and breaks no law', async () => {
  const first = await simulate('--seeds', '1..2', '--operations', '40');
  const second = await simulate('--seeds', '1..2', '--operations', '40');
  expect(first.map(({ seed, violations }) => ({ seed, violations }))).toEqual([
    { seed: 1, violations: [] },
    { seed: 2, violations: [] },
  ]);
  expect(second.map(({ hash }) => hash)).toEqual(first.map(({ hash }) => hash));
  expect(new Set(first.map(({ hash }) => hash)).size).toBe(2);
});

test('a run checks the laws of deliveries, retractions and sequence numbers', async () => {
  const [run] = await simulate('--seed', '1', '--operations', '40');
  for (const law of ['L1', 'L2', 'L4', 'L6', 'L7', 'L9', 'L12']) expect(run?.checked[law] ?? 0).toBeGreaterThan(0);
});
