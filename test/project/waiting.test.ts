import { expect, test } from 'bun:test';
import { resolve } from 'node:path';

const ROOT = resolve(import.meta.dir, '../..');

test('tests await a rejection by `rejection`, because Bun may hang on `expect(…).rejects`', async () => {
  const found: string[] = [];
  for (const path of new Bun.Glob('{src,test,faults,bench}/**/*.{ts,tsx}').scanSync(ROOT)) {
    if (path.includes('node_modules')) continue;
    if (/\)\s*\.(rejects|resolves)\./.test(await Bun.file(resolve(ROOT, path)).text())) found.push(path);
  }
  expect(found).toEqual([]);
});
