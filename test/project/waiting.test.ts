import { expect, test } from 'bun:test';
import { resolve } from 'node:path';

const ROOT = resolve(import.meta.dir, '../..');

test('every test waits for a failure by `rejection`, since Bun may sleep through one that `expect` waits for', async () => {
  const waiting: string[] = [];
  for (const path of new Bun.Glob('{src,test,faults,bench}/**/*.{ts,tsx}').scanSync(ROOT)) {
    if (path.includes('node_modules')) continue;
    if (/\)\s*\.(rejects|resolves)\./.test(await Bun.file(resolve(ROOT, path)).text())) waiting.push(path);
  }
  expect(waiting).toEqual([]);
});
