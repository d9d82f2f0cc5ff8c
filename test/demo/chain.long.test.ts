import { expect, test } from 'bun:test';
import { resolve } from 'node:path';

test('the demo of a network ends with 0 and 0 wrong, after payments that moved, were retracted and came back', async () => {
  const demo = Bun.spawn([process.execPath, 'demo/demo.ts', 'chain', '--json'], {
    cwd: resolve(import.meta.dir, '../..'),
    env: { PATH: process.env.PATH ?? '' },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, exitCode] = await Promise.all([demo.stdout.text(), demo.stderr.text(), demo.exited]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const result = JSON.parse(stdout);
  expect(result).toMatchObject({ payments: 200, reorganisations: 20, wrong: 0, errors: [] });
  for (const count of ['moved', 'retracted', 'back', 'final'] as const) expect(result[count]).toBeGreaterThan(0);
  // Whatever was told and not taken back is final in the end.
  expect(result.seen).toBe(result.retracted + result.final);
  expect(result.requests).toBeGreaterThanOrEqual(result.seen + result.retracted + result.final);
});
