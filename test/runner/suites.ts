import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

export const SUITES = ['short', 'long'] as const;
export type Suite = (typeof SUITES)[number];

const ROOT = resolve(import.meta.dir, '../..');
const DIFFERS = /\bonSuiteEngine\(|support\/suite\.ts'/;
const LONG = /\.long\.test\.ts$/;

export function isSuite(name: string): name is Suite {
  return SUITES.some((suite) => suite === name);
}

/**
 * The files of a suite whose path contains one of the given paths, or all of them. The name of a file alone says that it
 * is long. A file that uses `test/support/suite.ts` runs in both suites: on SQLite and with few runs in the short one, on
 * PostgreSQL and with many runs in the long one.
 */
export function suiteFiles(suite: Suite, paths: readonly string[] = []): string[] {
  const isLong = (file: string) => LONG.test(file);
  const belongs =
    suite === 'short' ? (file: string) => !isLong(file) : (file: string) => isLong(file) || differsBySuite(file);
  const wanted = paths.map((path) => path.replace(/^\.?\//, ''));
  return [...new Bun.Glob('test/**/*.test.ts').scanSync(ROOT)]
    .filter((file) => !file.includes('node_modules/'))
    .filter((file) => wanted.length === 0 || wanted.some((path) => file.includes(path)))
    .filter(belongs)
    .sort();
}

function differsBySuite(file: string): boolean {
  return readFileSync(resolve(ROOT, file), 'utf8').match(DIFFERS) !== null;
}
