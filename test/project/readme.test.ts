import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { createProgram } from '../../src/cli/program.ts';

/** What a page names is there; test/docs types what a page tells people to type. */

const ROOT = resolve(import.meta.dir, '../..');
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(resolve(ROOT, 'docs')).map((name) => `docs/${name}`),
].filter((name) => name.endsWith('.md'));

const read = (page: string) => Bun.file(resolve(ROOT, page)).text();

/** The help of the command that the words name, as far as they are names and not arguments; null where there is none. */
function helpOf(words: readonly string[]): string | null {
  let command = createProgram();
  for (const word of words) {
    const next = command.commands.find((candidate) => candidate.name() === word);
    if (next !== undefined) command = next;
    else if (command.commands.length > 0 || command.registeredArguments.length === 0) return null;
  }
  return command.helpInformation();
}

describe('every page', () => {
  test('names only npm scripts that there are', async () => {
    for (const page of PAGES) {
      const named = [...(await read(page)).matchAll(/npm (?:run (?:-s )?([\w:-]+)|(start|test))/g)].map(
        (match) => match[1] ?? match[2],
      );
      for (const name of named) expect(packageJson.scripts, `${page}: npm run ${name}`).toHaveProperty([name ?? '']);
    }
  });

  test('names only commands of paybell that there are, with options that they take', async () => {
    const known = new Set<string>();
    for (const page of PAGES) {
      for (const [, words = ''] of (await read(page)).matchAll(
        /(?:paybell --|`paybell|dist\/paybell) ((?:[a-z]+ ?)+(?:(?:--[a-z-]+|<\w+>)(?:[ =]<?[\w.]+>?)? ?)*)/g,
      )) {
        const names = words.split(' --')[0]?.replace(/<.*/, '').trim().split(' ') ?? [];
        const help = helpOf(names);
        expect(help, `${page}: paybell ${words}`).not.toBeNull();
        for (const [option] of words.matchAll(/--[a-z-]+/g))
          expect(help, `${page}: paybell ${words}`).toContain(option);
        known.add(names.join(' '));
      }
    }
    expect(known.size).toBeGreaterThan(20);
  });

  test('of docs/ is in its index', async () => {
    const index = await read('docs/README.md');
    for (const page of PAGES.filter((name) => /^docs\/(?!README)/.test(name))) {
      expect(index).toContain(`](${page.slice('docs/'.length)})`);
    }
  });

  test('links only to files that there are', async () => {
    for (const page of PAGES) {
      for (const [, target = ''] of (await read(page)).matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
        const file = resolve(ROOT, page, '..', target);
        expect(await Bun.file(file).exists(), `${page} → ${target}`).toBe(true);
      }
    }
  });
});
