import { describe, expect, test } from 'bun:test';
import { resolve } from 'node:path';
import { FAULTS } from '../../faults/catalogue.ts';
import { loadConfig, SETTING_NAMES } from '../../src/config.ts';
import { PROBLEMS } from '../../src/contract/problems.ts';
import { ATTEMPT_ERRORS } from '../../src/domain/attempt.ts';

const read = (path: string) => Bun.file(resolve(import.meta.dir, '../..', path)).text();

describe('.env.example', () => {
  const settingsIn = (text: string) =>
    [...text.matchAll(/^# ([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]);

  test('lists exactly the settings of the schema, in the same order', async () => {
    expect(settingsIn(await read('.env.example')).map(([name]) => name)).toEqual(SETTING_NAMES);
  });

  test('shows the default values', async () => {
    expect(loadConfig(Object.fromEntries(settingsIn(await read('.env.example'))))).toEqual(loadConfig({}));
  });

  test('sets nothing, and explains each setting in the line above it', async () => {
    const text = await read('.env.example');
    expect(text.split('\n').filter((line) => line !== '' && !line.startsWith('# '))).toEqual([]);
    expect(text.match(/^# (?![A-Z_]+=).+\n# [A-Z_]+=/gm)).toHaveLength(SETTING_NAMES.length);
  });
});

describe('docs/errors.md', () => {
  test('lists exactly the codes of the catalogue, each with its status, meaning and fix', async () => {
    const rows = [...(await read('docs/errors.md')).matchAll(/^\| `(\w+)` \| (\d+) \| (.+) \| (.+) \|$/gm)];
    const listed = Object.fromEntries(rows.map(([, code = '', status]) => [code, Number(status)]));
    expect(listed).toEqual(Object.fromEntries(Object.entries(PROBLEMS).map(([code, { status }]) => [code, status])));
    for (const [, , , meaning = '', remedy = ''] of rows) {
      expect(meaning).toEndWith('.');
      expect(remedy).toEndWith('.');
    }
  });

  test('lists exactly the errors of attempts, each with its meaning and fix', async () => {
    const [, section = ''] = (await read('docs/errors.md')).split('## Errors of attempts');
    const rows = [...section.matchAll(/^\| `(\w+)` \| (.+\.) \| (.+\.) \|$/gm)];
    expect(rows.map(([, error]) => error ?? '')).toEqual([...ATTEMPT_ERRORS]);
  });
});

describe('faults/RESULTS.md', () => {
  test('lists every fault of the catalogue with its description', async () => {
    const page = await read('faults/RESULTS.md');
    for (const { name, what } of FAULTS) expect(page).toContain(`\n| \`${name}\` | ${what} |\n`);
  });
});

describe('the packages', () => {
  test('are locked without download URLs, so that any registry can serve them', async () => {
    const addresses = (await read('package-lock.json')).match(/"resolved": ".*"/g) ?? [];
    // A folder of this repository, not a URL.
    expect(addresses).toEqual(['"resolved": "test/generator"']);
  });

  test('are locked for every platform, because npm ci rejects a lock file that omits one', async () => {
    const { packages } = JSON.parse(await read('package-lock.json')) as {
      packages: Record<string, { optionalDependencies?: Record<string, string> }>;
    };
    const wanted = Object.values(packages).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}));
    const paths = Object.keys(packages);
    expect(wanted.filter((name) => !paths.some((path) => path.endsWith(`node_modules/${name}`)))).toEqual([]);
  });

  test('are all pinned to an exact version', async () => {
    const { dependencies, devDependencies } = JSON.parse(await read('package.json'));
    const { 'paybell-test-generator': folder, ...others } = devDependencies;
    expect(folder).toBe('file:test/generator');
    const { dependencies: ofTheFolder } = JSON.parse(await read('test/generator/package.json'));
    for (const version of Object.values({ ...dependencies, ...others, ...ofTheFolder })) {
      expect(version).toMatch(/^\d+\.\d+\.\d+(-[\w.]+)?$/);
    }
  });
});
