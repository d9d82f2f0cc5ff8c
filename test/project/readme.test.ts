import { describe, expect, test } from 'bun:test';
import { resolve } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { createProgram } from '../../src/cli/program.ts';

/** Scripts, commands, options and files that a page mentions exist. test/docs runs the commands. */

const ROOT = resolve(import.meta.dir, '../..');
const PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...new Bun.Glob('docs/**/*.md').scanSync(ROOT)];

const read = (page: string) => Bun.file(resolve(ROOT, page)).text();

const program = await createProgram();

/** The help text of the command that the words name, arguments left out; null if there is no such command. */
function helpOf(words: readonly string[]): string | null {
  let command = program;
  for (const word of words) {
    const next = command.commands.find((candidate) => candidate.name() === word);
    if (next !== undefined) command = next;
    else if (command.commands.length > 0 || command.registeredArguments.length === 0) return null;
  }
  return command.helpInformation();
}

describe('every page', () => {
  test('names only npm scripts that exist', async () => {
    for (const page of PAGES) {
      const named = [...(await read(page)).matchAll(/npm (?:run (?:-s )?([\w:-]+)|(start|test))/g)].map(
        (match) => match[1] ?? match[2],
      );
      for (const name of named) expect(packageJson.scripts, `${page}: npm run ${name}`).toHaveProperty([name ?? '']);
    }
  });

  test('names only paybell commands and options that exist', async () => {
    const known = new Set<string>();
    for (const page of PAGES) {
      for (const [, words = ''] of (await read(page)).matchAll(
        /(?:^|[`(]|dist\/)paybell ((?:[a-z]+ ?)+(?:(?:--[a-z-]+|<\w+>)(?:[ =]<?[\w.]+>?)? ?)*)/gm,
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

  test('of docs/ is in the index, once', async () => {
    const index = await read('docs/README.md');
    for (const page of PAGES.filter((name) => /^docs\/(?!README)/.test(name))) {
      expect([page, index.split(`](${page.slice('docs/'.length)})`).length - 1]).toEqual([page, 1]);
    }
  });

  test('of docs/ has at most 320 lines, and begins with a paragraph', async () => {
    for (const page of PAGES.filter((name) => name.startsWith('docs/'))) {
      const lines = (await read(page)).trimEnd().split('\n');
      expect(lines.length, `${page} has ${lines.length} lines`).toBeLessThanOrEqual(320);
      const first = lines.slice(1).find((line) => line !== '' && !line.startsWith('<!--'));
      expect(first, page).toMatch(/^[\w`*[]/);
    }
  });

  test('links only to files that exist', async () => {
    for (const page of PAGES) {
      for (const [, target = ''] of (await read(page)).matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
        const file = resolve(ROOT, page, '..', target);
        expect(await Bun.file(file).exists(), `${page} → ${target}`).toBe(true);
      }
    }
  });

  test('names only files of this repository that exist', async () => {
    for (const page of PAGES) {
      for (const [, file = ''] of (await read(page)).matchAll(/`((?:bench|src|test|faults|docs)\/[\w./-]+\.\w+)`/g)) {
        expect(await Bun.file(resolve(ROOT, file)).exists(), `${page}: ${file}`).toBe(true);
      }
    }
  });
});
