import { expect, test } from 'bun:test';
import { suiteFiles } from './suites.ts';

test('the name of a file alone says that it is long', () => {
  expect(suiteFiles('short').filter((file) => file.endsWith('.long.test.ts'))).toEqual([]);
  expect(suiteFiles('long')).toContain('test/docs/commands.long.test.ts');
});

test('a file that differs by suite runs in both', () => {
  const models = 'test/store/webhooks/list-model.test.ts';
  const routes = 'test/api/routes/deliveries.test.ts';
  for (const suite of ['short', 'long'] as const)
    expect(suiteFiles(suite)).toEqual(expect.arrayContaining([models, routes]));
});

test('every test file belongs to a suite, and the tests of packages to none', () => {
  const files = new Set([...suiteFiles('short'), ...suiteFiles('long')]);
  const all = [...new Bun.Glob('test/**/*.test.ts').scanSync(`${import.meta.dir}/../..`)];
  expect([...files].sort()).toEqual(all.filter((file) => !file.includes('node_modules')).sort());
});

test('paths select files', () => {
  expect(suiteFiles('short', ['./test/runner'])).toEqual(['test/runner/report.test.ts', 'test/runner/suites.test.ts']);
  expect(suiteFiles('long', ['test/runner'])).toEqual([]);
});
