import { describe, expect, test } from 'bun:test';
import { resolve } from 'node:path';
import {
  BASH,
  CITUS,
  GETH,
  LINUX,
  needs,
  POSTGRES_ONLY,
  REQUIREMENTS,
  SQLITE_ONLY,
  summarizeSkips,
} from '../support/requirements.ts';

const ROOT = resolve(import.meta.dir, '../..');

const skipped = (count: number, tag: string) =>
  Array.from({ length: count }, (_, index) => `a store on sqlite > does ${index} ${tag}`);

describe('the summary of skipped tests', () => {
  test('counts them by what they need, the most first', () => {
    const names = [...skipped(3, needs(GETH)), ...skipped(6, needs(CITUS)), ...skipped(5, POSTGRES_ONLY)];
    expect(summarizeSkips(names)).toBe(
      'Skipped 14 tests: 6 need Citus (TEST_CITUS_URL), 5 are for PostgreSQL only, 3 need geth (GETH)',
    );
  });

  test('is in the singular for one test, and names no source that there is not', () => {
    expect(summarizeSkips(skipped(1, needs(LINUX)))).toBe('Skipped 1 test: 1 needs Linux');
    expect(summarizeSkips([...skipped(1, SQLITE_ONLY), ...skipped(1, needs(BASH))])).toBe(
      'Skipped 2 tests: 1 is for SQLite only, 1 needs bash',
    );
  });

  test('counts those whose names have no reason', () => {
    expect(summarizeSkips(['a store > is [odd]', 'another'])).toBe('Skipped 2 tests: 2 give no reason');
  });

  test('is empty if no test was skipped', () => {
    expect(summarizeSkips([])).toBe('');
  });

  test('tells every requirement of the catalogue apart', () => {
    const tags = REQUIREMENTS.map(needs);
    expect(new Set(tags).size).toBe(REQUIREMENTS.length);
    for (const [index, tag] of tags.entries()) {
      const { label, source } = REQUIREMENTS[index] ?? CITUS;
      expect(summarizeSkips([tag])).toBe(`Skipped 1 test: 1 needs ${label}${source === null ? '' : ` (${source})`}`);
    }
  });
});

test('no test passes on an engine for which it does nothing: it is skipped there', async () => {
  const found: string[] = [];
  for (const path of new Bun.Glob('test/**/*.test.ts').scanSync(ROOT)) {
    if (path.includes('node_modules')) continue;
    const text = await Bun.file(resolve(ROOT, path)).text();
    if (/^ *if \([\w.]*engine [!=]== '\w+'\) return;$/m.test(text)) found.push(path);
  }
  expect(found).toEqual([]);
});
