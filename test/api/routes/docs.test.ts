import { expect, test } from 'bun:test';
import { cpSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { tempFolder } from '../../support/paybell.ts';

const SRC = resolve(import.meta.dir, '../../../src');

test('without development dependencies, /docs says what is missing and where the document is', async () => {
  const folder = tempFolder();
  // Without a folder of this name, Bun would ask the registry.
  mkdirSync(join(folder.path, 'node_modules'));
  for (const file of ['api/routes/docs.ts', 'api/routes/reference.css', 'api/dashboard/headers.ts']) {
    cpSync(join(SRC, file), join(folder.path, 'src', file));
  }
  const program = `const { docsFiles } = await import('./src/api/routes/docs.ts');
    const response = docsFiles['/docs']();
    console.log(response.status, await response.text());`;
  const child = Bun.spawn([process.execPath, '--no-install', '-e', program], {
    cwd: folder.path,
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  expect({ stdout, stderr, exitCode: await child.exited }).toEqual({
    stdout: expect.stringMatching(
      /^404 The viewer is not installed here: run npm ci without --omit=dev\..*\/openapi\.json/,
    ),
    stderr: '',
    exitCode: 0,
  });
  folder.remove();
});
