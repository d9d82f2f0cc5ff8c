import { describe, expect, test } from 'bun:test';
import { resolve } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };

const ROOT = resolve(import.meta.dir, '../..');

/** The rows of every table of promises, as cells. */
async function promises(): Promise<string[][]> {
  const page = await Bun.file(resolve(ROOT, 'docs/security.md')).text();
  const tables = page.split('\n\n').filter((part) => part.startsWith('| promise | tried by | figure |'));
  return tables.flatMap((table) =>
    table
      .trim()
      .split('\n')
      .slice(2)
      .map((row) =>
        row
          .slice(1, -1)
          .split('|')
          .map((cell) => cell.trim()),
      ),
  );
}

describe('every promise of docs/security.md', () => {
  test('is there, in tables of three columns', async () => {
    const rows = await promises();
    expect(rows.length).toBeGreaterThan(25);
    for (const row of rows) expect(row).toHaveLength(3);
  });

  test('names what tries to break it, and that exists', async () => {
    for (const [promise = '', triedBy = ''] of await promises()) {
      const files = [...triedBy.matchAll(/`([\w./-]+\.ts)`/g)].map(([, file = '']) => file);
      const scripts = [...triedBy.matchAll(/`npm run ([\w:-]+)`/g)].map(([, script = '']) => script);
      expect([promise, files.length + scripts.length > 0]).toEqual([promise, true]);
      for (const file of files) expect([file, await Bun.file(resolve(ROOT, file)).exists()]).toEqual([file, true]);
      for (const script of scripts) expect(packageJson.scripts).toHaveProperty([script]);
    }
  });

  test('says what came of it in figures, where there is one, and in no placeholder', async () => {
    for (const [promise, , figure] of await promises()) {
      expect([promise, figure]).toEqual([promise, expect.not.stringMatching(/[A-Z]+_FIGURE|TODO|\?\?/)]);
    }
  });
});
