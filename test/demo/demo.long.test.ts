import { expect, test } from 'bun:test';
import { resolve } from 'node:path';

test('the demo ends with 0 and a table in which every event arrived and verified', async () => {
  const root = resolve(import.meta.dir, '../..');
  const demo = Bun.spawn([process.execPath, 'demo/demo.ts'], {
    cwd: root,
    env: { PATH: process.env.PATH ?? '' },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, exitCode] = await Promise.all([demo.stdout.text(), demo.stderr.text(), demo.exited]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  for (const line of [/accepted +1000\n/, /delivered +1000\n/, /verified +1000\n/, /retried +50\n/]) {
    expect(stdout).toMatch(line);
  }
});
