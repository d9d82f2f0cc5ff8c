import { describe, expect, test } from 'bun:test';
import { resolve } from 'node:path';
import { licencesPage, lockedPackages } from '../../docs/generate-licences.ts';

/** Licences that require attribution and nothing more. */
const PERMISSIVE = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', '0BSD'];

test('the list of licences has a row for every locked package', async () => {
  const page = await licencesPage();
  for (const { name, version, licence } of await lockedPackages())
    expect(page).toContain(`\n| ${name} | ${version} | ${licence} |\n`);
});

describe('runtime dependencies', () => {
  test('all have a permissive licence', async () => {
    const shipped = (await lockedPackages()).filter((each) => each.shipped);
    expect(shipped.length).toBeGreaterThan(10);
    expect(shipped.filter(({ licence }) => !PERMISSIVE.includes(licence))).toEqual([]);
  });

  test('declare the licence that the lock file lists, where they are installed', async () => {
    const shipped = (await lockedPackages()).filter((each) => each.shipped);
    const files = shipped.map(({ name, licence, version }) => ({
      file: Bun.file(resolve(import.meta.dir, `../../node_modules/${name}/package.json`)),
      expected: { name, version, license: licence },
    }));
    let read = 0;
    for (const { file, expected } of files) {
      if (!(await file.exists())) continue;
      const installed = (await file.json()) as { name: string; version: string; license?: string };
      // The lock file can hold a second version of a package, nested deeper in the tree.
      if (installed.version !== expected.version) continue;
      expect({ name: installed.name, version: installed.version, license: installed.license }).toEqual(expected);
      read++;
    }
    expect(read).toBeGreaterThan(10);
  });

  test('and development dependencies all declare a licence', async () => {
    expect((await lockedPackages()).filter(({ licence }) => licence === 'not declared')).toEqual([]);
  });
});
