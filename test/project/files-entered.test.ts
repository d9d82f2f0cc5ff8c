import { expect, test } from 'bun:test';
import { resolve } from 'node:path';

test('a list request and an event enter few enough files for a reader to follow', async () => {
  const script = resolve(import.meta.dir, '../../bench/files-entered/main.ts');
  const child = Bun.spawn([process.execPath, script], { stdout: 'pipe', stderr: 'inherit' });
  const [output, exitCode] = await Promise.all([child.stdout.text(), child.exited]);
  expect({ exitCode, output }).toEqual({ exitCode: 0, output: expect.stringContaining('src/api/') });
}, 600_000);
