import { describe, expect, test } from 'bun:test';
import { resolve } from 'node:path';
import { licencesPage, lockedPackages } from '../../docs/generate-licences.ts';

/** Licences that ask for nothing but to be named. */
const PERMISSIVE = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', '0BSD'];

describe('docs/licences.md', () => {
  test('is what package-lock.json makes of it; if not, run: npx bun docs/generate-licences.ts', async () => {
    const page = resolve(import.meta.dir, '../../docs/licences.md');
    expect(await Bun.file(page).text()).toBe(await licencesPage());
  });
});

describe('what the running service stands on', () => {
  test('is under licences that let anybody use it', async () => {
    const shipped = (await lockedPackages()).filter((each) => each.shipped);
    expect(shipped.length).toBeGreaterThan(10);
    expect(shipped.filter(({ licence }) => !PERMISSIVE.includes(licence))).toEqual([]);
  });

  test('has its licence named by its own package, where that is installed', async () => {
    const shipped = (await lockedPackages()).filter((each) => each.shipped);
    const files = shipped.map(({ name, licence, version }) => ({
      file: Bun.file(resolve(import.meta.dir, `../../node_modules/${name}/package.json`)),
      expected: { name, version, license: licence },
    }));
    let read = 0;
    for (const { file, expected } of files) {
      if (!(await file.exists())) continue;
      const installed = (await file.json()) as { name: string; version: string; license?: string };
      // Another version of the same name may lie deeper in the tree.
      if (installed.version !== expected.version) continue;
      expect({ name: installed.name, version: installed.version, license: installed.license }).toEqual(expected);
      read++;
    }
    expect(read).toBeGreaterThan(10);
  });

  test('and what the tests stand on names a licence each', async () => {
    expect((await lockedPackages()).filter(({ licence }) => licence === 'not named')).toEqual([]);
  });
});
