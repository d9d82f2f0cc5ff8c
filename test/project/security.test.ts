import { describe, expect, test } from 'bun:test';
import { resolve } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };

const ROOT = resolve(import.meta.dir, '../..');

/** The rows of every table of guarantees, as cells. */
async function guarantees(): Promise<string[][]> {
  const page = await Bun.file(resolve(ROOT, 'docs/security.md')).text();
  const tables = page.split('\n\n').filter((part) => part.startsWith('| Guarantee | Test | Result |'));
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

test('every resource that entities share has a limit, turns, a test that exists and a figure', async () => {
  const page = await Bun.file(resolve(ROOT, 'docs/security.md')).text();
  const table = page.split('\n\n').find((part) => part.startsWith('| Resource | Limit for one entity | Turns |')) ?? '';
  const rows = table.trim().split('\n').slice(2);
  expect(rows.length).toBeGreaterThanOrEqual(13);
  for (const row of rows) {
    const cells = row.slice(1, -1).split('|');
    expect([row, cells.length]).toEqual([row, 5]);
    for (const cell of cells) expect(cell.trim()).not.toBe('');
    const files = [...(cells[3] ?? '').matchAll(/`([\w./-]+\.ts)`/g)].map(([, file = '']) => file);
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) expect([file, await Bun.file(resolve(ROOT, file)).exists()]).toEqual([file, true]);
  }
});

describe('every guarantee of docs/security.md', () => {
  test('is a row of three columns', async () => {
    const rows = await guarantees();
    expect(rows.length).toBeGreaterThan(25);
    for (const row of rows) expect(row).toHaveLength(3);
  });

  test('names the test that tries to break it, and that test exists', async () => {
    for (const [guarantee = '', testedBy = ''] of await guarantees()) {
      const files = [...testedBy.matchAll(/`([\w./-]+\.ts)`/g)].map(([, file = '']) => file);
      const scripts = [...testedBy.matchAll(/`npm run ([\w:-]+)`/g)].map(([, script = '']) => script);
      expect([guarantee, files.length + scripts.length > 0]).toEqual([guarantee, true]);
      for (const file of files) expect([file, await Bun.file(resolve(ROOT, file)).exists()]).toEqual([file, true]);
      for (const script of scripts) expect(packageJson.scripts).toHaveProperty([script]);
    }
  });

  test('has a result, not a placeholder', async () => {
    for (const [guarantee, , result] of await guarantees()) {
      expect([guarantee, result]).toEqual([guarantee, expect.not.stringMatching(/[A-Z]+_FIGURE|TODO|\?\?/)]);
    }
  });
});
