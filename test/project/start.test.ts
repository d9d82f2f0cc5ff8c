import { expect, test } from 'bun:test';
import { dirname, join, relative, resolve } from 'node:path';

/**
 * A start imports no module that declares schemas of requests and responses: building them all took more than half of it. They come
 * with their operations, when those are first called.
 */

const ROOT = resolve(import.meta.dir, '../..');
const BEGINNINGS = ['src/main.ts', 'src/cli/operator/serve.ts'];
/** Declares functions that build schemas, and builds none itself. */
const BUILDS_NONE = ['src/contract/list-query.ts'];

test('a start loads no schemas of the contract', async () => {
  const loaded = await filesLoaded(BEGINNINGS);
  expect(loaded.size).toBeGreaterThan(100);
  const withSchemas: string[] = [];
  for (const [file, imported] of loaded) {
    if (file.startsWith('src/contract/') && imported.includes('zod')) withSchemas.push(file);
  }
  expect(withSchemas.filter((file) => !BUILDS_NONE.includes(file))).toEqual([]);
});

/** The modules that are loaded with the given ones, without those that are imported when they are needed; each with what it imports. */
async function filesLoaded(beginnings: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const loaded = new Map<string, readonly string[]>();
  const waiting = [...beginnings];
  for (const file of waiting) {
    if (loaded.has(file) || !/\.tsx?$/.test(file)) continue;
    const specifiers = staticImports(await Bun.file(join(ROOT, file)).text());
    loaded.set(file, specifiers);
    const own = specifiers.filter((specifier) => specifier.startsWith('.'));
    waiting.push(...own.map((specifier) => relative(ROOT, resolve(ROOT, dirname(file), specifier))));
  }
  return loaded;
}

const transpiler = new Bun.Transpiler({ loader: 'ts' });

/** Without imports of types, which are gone at run time. */
function staticImports(source: string): string[] {
  const imports = transpiler.scanImports(source);
  return imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => path);
}
