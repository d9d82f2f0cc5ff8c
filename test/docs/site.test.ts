import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { anchorOf, fileOf, linkFrom, pageOf, sectionsOf } from '../../site/pages.ts';
import { ROOT, readPage } from '../support/document-blocks.ts';

/** What the site needs of the pages, without building it: `npm run docs` does that. */

const SOURCES = ['*.md', 'docs/**/*.md', '{examples,faults,site}/*.md']
  .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(ROOT)])
  .filter((source) => pageOf(source) !== null);

/** The page without its code, in which nothing is a link or a tag. */
async function proseOf(source: string): Promise<string> {
  return (await readPage(source)).replace(/^```[\s\S]*?^```$/gm, '').replace(/`[^`\n]*`/g, 'code');
}

const known = new Map<string, Promise<Set<string>>>();

function anchorsOf(source: string): Promise<Set<string>> {
  const found = known.get(source) ?? readAnchors(source);
  known.set(source, found);
  return found;
}

async function readAnchors(source: string): Promise<Set<string>> {
  const text = (await readPage(source)).replace(/^```[\s\S]*?^```$/gm, '');
  const anchors = new Set<string>();
  for (const [, heading = ''] of text.matchAll(/^#{1,6} (.+)$/gm)) {
    const anchor = anchorOf(heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', ''));
    let name = anchor;
    for (let again = 1; anchors.has(name); again++) name = `${anchor}-${again}`;
    anchors.add(name);
  }
  return anchors;
}

/** Each as `page → link: what is wrong`. */
async function brokenLinks(source: string, text: string): Promise<string[]> {
  const broken: string[] = [];
  for (const [, href = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
    const link = linkFrom(source, href);
    if (link === null) continue;
    const say = (what: string) => broken.push(`${source} → ${href}: ${what}`);
    if (!existsSync(join(ROOT, link.source))) say('no such file');
    else if (link.anchor !== '' && !(await anchorsOf(link.source)).has(link.anchor)) say('no such heading');
    else if (pageOf(link.source) === null && link.source.endsWith('.md')) say('not a page of the site');
  }
  return broken;
}

describe('the site', () => {
  test('has every page of docs/, each at a path of its own', () => {
    const paths = SOURCES.map((source) => pageOf(source));
    expect(new Set(paths).size).toBe(SOURCES.length);
    expect(paths).toEqual(expect.arrayContaining(['index.md', 'quick-start.md', 'tours/operator.md', 'changelog.md']));
  });

  test('has no link to a page or a heading that does not exist', async () => {
    const broken = await Promise.all(SOURCES.map(async (source) => brokenLinks(source, await proseOf(source))));
    expect(broken.flat()).toEqual([]);
  });

  test('would be found to have one', async () => {
    const text =
      '[a](quick-start.md) [b](nowhere.md) [c](errors.md#nowhere) [d](../README.md) [e](https://example.com)';
    expect(await brokenLinks('docs/chain.md', text)).toEqual([
      'docs/chain.md → nowhere.md: no such file',
      'docs/chain.md → errors.md#nowhere: no such heading',
      'docs/chain.md → ../README.md: not a page of the site',
    ]);
  });

  test('shows images by paths that GitHub understands too, and takes no text for a component', async () => {
    for (const source of SOURCES) {
      const text = (await proseOf(source)).replace(/<!--[\s\S]*?-->/g, '');
      const tags = [...text.matchAll(/<\/?([a-zA-Z][\w-]*)[^>]*>/g)];
      expect([source, tags.map(([, name]) => name).filter((name) => name !== 'img')]).toEqual([source, []]);
      expect(text, `${source} has {{ }}, which the site would evaluate`).not.toMatch(/\{\{/);
      for (const [tag] of tags)
        expect([source, tag]).toEqual([source, expect.stringMatching(/ src="\.\/[\w/-]+\.png"/)]);
      for (const [, path = ''] of text.matchAll(/(?:!\[[^\]]*\]\(|<img[^>]* src=")([^)"]+)/g)) {
        expect([source, path, existsSync(join(ROOT, source, '..', path))]).toEqual([source, path, true]);
      }
    }
  });

  test('has the sections of the index, which begins with the tours', async () => {
    const sections = sectionsOf(await readPage('docs/README.md'));
    expect(sections.map(({ title }) => title)).toEqual([
      'Tours',
      'For integrators',
      'For operators',
      'For contributors',
    ]);
    for (const { source } of sections.flatMap(({ pages }) => pages))
      expect([source, SOURCES.includes(source)]).toEqual([source, true]);
  });

  test('names files and headings as GitHub and servers of files understand them', () => {
    expect(fileOf('.env.example')).toBe('files/env.example.txt');
    expect(fileOf('deploy/grafana/dashboard.json')).toBe('files/deploy/grafana/dashboard.json');
    expect(anchorOf('Operators’ keys: `ADMIN_KEY` & more')).toBe('operators-keys-admin_key--more');
    expect(linkFrom('docs/tours/operator.md', '../deploy.md#citus')).toEqual({
      source: 'docs/deploy.md',
      anchor: 'citus',
    });
    expect(linkFrom('docs/deploy.md', '#citus')).toEqual({ source: 'docs/deploy.md', anchor: 'citus' });
  });
});

type Lock = { packages: Record<string, { optionalDependencies?: Record<string, string> }> };

describe('what only the site needs', () => {
  test('is locked without download URLs, for every platform', async () => {
    const lock = await readPage('site/package-lock.json');
    expect(lock.match(/"resolved": ".*"/g)).toBeNull();
    const { packages } = JSON.parse(lock) as Lock;
    const wanted = Object.values(packages).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}));
    expect(wanted.length).toBeGreaterThan(10);
    expect(wanted.filter((name) => !Object.hasOwn(packages, `node_modules/${name}`))).toEqual([]);
  });

  test('is pinned, and no dependency of the project', async () => {
    const { devDependencies, dependencies } = JSON.parse(await readPage('site/package.json'));
    expect(dependencies).toBeUndefined();
    for (const version of Object.values(devDependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    const ofTheProject = await readPage('package-lock.json');
    for (const name of Object.keys(devDependencies)) expect(ofTheProject).not.toContain(`node_modules/${name}"`);
  });
});
