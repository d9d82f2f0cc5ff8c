import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const ROOT = resolve(import.meta.dir, '../..');
const LAWS = 'test/simulation/oracle/laws';
const read = (path: string) => readFileSync(resolve(ROOT, path), 'utf8');

/** The sections of the page by the number of their law. */
const sections = new Map(
  read('docs/guarantees.md')
    .split(/^## (?=L\d+$)/m)
    .slice(1)
    .map((section) => [section.split('\n', 1)[0] ?? '', section]),
);

describe('docs/guarantees.md', () => {
  test('has the fifteen laws in the order of their numbers', () => {
    expect([...sections.keys()]).toEqual(Array.from({ length: 15 }, (_, index) => `L${index + 1}`));
  });

  test('names the file of each law of the simulator in its section', () => {
    const files = readdirSync(resolve(ROOT, LAWS)).filter((name) => name.endsWith('.ts'));
    const laws = files.flatMap((name) => {
      const id = /^ {2}id: '(L\d+)',$/m.exec(read(`${LAWS}/${name}`))?.[1];
      return id === undefined ? [] : [{ id, path: `${LAWS}/${name}` }];
    });
    expect(laws).toHaveLength(15);
    for (const { id, path } of laws) expect(sections.get(id), id).toContain(`\`${path}\``);
  });

  test('names a test besides the simulator for each law, and only files that exist', async () => {
    for (const [id, section] of sections) {
      const files = [...section.matchAll(/`(test\/[\w./-]+)`/g)].map(([, file = '']) => file);
      expect(files.filter((file) => !file.startsWith(LAWS)).length, id).toBeGreaterThan(0);
      for (const file of files) expect(await Bun.file(resolve(ROOT, file)).exists(), `${id}: ${file}`).toBe(true);
    }
  });
});
