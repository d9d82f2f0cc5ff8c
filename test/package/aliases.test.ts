import { expect, test } from 'bun:test';
import { resolve } from 'node:path';
import { writeOutAliases } from '../../package/types/schema-aliases.ts';

const ROOT = resolve(import.meta.dir, '../..');
const FILES = [...new Bun.Glob('src/client/**/*.ts').scanSync(ROOT)].sort();

// A type that stays inferred makes the package need zod, which only the build of the package would notice.
test.each(FILES)('every type of %s that is inferred from a schema can be written out for the package', async (file) => {
  const path = resolve(ROOT, file);
  const written = await writeOutAliases(await Bun.file(path).text(), path);
  expect(written.match(/typeof \w+Schema\b.*/g) ?? []).toEqual([]);
});
