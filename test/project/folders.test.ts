import { expect, test } from 'bun:test';
import { resolve } from 'node:path';
import { crowdedFolders, longFiles, medianLines } from './folders.ts';

const ROOT = resolve(import.meta.dir, '../..');
const MOST_FILES = 15;
const MOST_LINES = 300;
const MEDIAN_BELOW = 100;

const filesOf = (pattern: string) => [...new Bun.Glob(pattern).scanSync(ROOT)];

test(`no folder of the source has more than ${MOST_FILES} files directly in it`, () => {
  const files = filesOf('src/**/*');
  expect(files.length).toBeGreaterThan(200);
  expect(crowdedFolders(files, MOST_FILES)).toEqual([]);
});

async function sourcesOf(pattern: string): Promise<Map<string, string>> {
  const files = filesOf(pattern);
  const sources = await Promise.all(files.map((file) => Bun.file(resolve(ROOT, file)).text()));
  return new Map(files.map((file, index) => [file, sources[index] ?? '']));
}

test(`no source file has more than ${MOST_LINES} lines`, async () => {
  expect(longFiles(await sourcesOf('src/**/*.{ts,tsx,css}'), MOST_LINES)).toEqual([]);
});

test(`half of the source files have fewer than ${MEDIAN_BELOW} lines`, async () => {
  const sources = await sourcesOf('src/**/*.{ts,tsx}');
  expect(medianLines([...sources.values()])).toBeLessThan(MEDIAN_BELOW);
});

test('the check of folders counts the files of each folder apart from those of its subfolders', () => {
  const files = ['src/a/1.ts', 'src/a/2.ts', 'src/a/3.ts', 'src/a/b/4.ts', 'src/a/b/5.ts'];
  expect(crowdedFolders(files, 2)).toEqual(['src/a: 3 files']);
});

test('the check of lengths names each file that is too long', () => {
  const sources = new Map([
    ['src/a.ts', 'one\n'.repeat(3)],
    ['src/b.ts', 'one\n'.repeat(2)],
  ]);
  expect(longFiles(sources, 2)).toEqual(['src/a.ts: 3 lines']);
});

test('the check of lengths takes the median of the lines', () => {
  expect(medianLines(['one\n'.repeat(300), 'one\n'.repeat(120), 'one\n'])).toBe(120);
});
