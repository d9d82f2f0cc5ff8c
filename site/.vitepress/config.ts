import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { defineConfig, type MarkdownOptions } from 'vitepress';
import { anchorOf, fileOf, linkFrom, pageOf, sectionsOf } from '../pages.ts';

/** The pages stay in the repository as GitHub shows them. Their links are changed to those of the site while it is built. */

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const { version } = JSON.parse(read('package.json')) as { version: string };
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#2f55d4"/><path fill="#fff" d="M16 6.5a6.6 6.6 0 0 0-6.6 6.6v4.2l-2 3.6a.9.9 0 0 0 .8 1.3h15.6a.9.9 0 0 0 .8-1.3l-2-3.6v-4.2A6.6 6.6 0 0 0 16 6.5Z"/><path fill="#fff" d="M13.3 24a2.8 2.8 0 0 0 5.4 0z"/></svg>';
const ICON_URL = `data:image/svg+xml,${encodeURIComponent(ICON)}`;

const sections = sectionsOf(read('docs/README.md')).map(({ title, pages }) => ({
  text: title,
  items: pages.map(({ title: text, source }) => ({ text, link: `/${pageOf(source)}` })),
}));
const [tours, ...others] = sections;

/** Files that are no pages and that pages link to. They are copied to the site. */
const linkedFiles = new Set<string>();

type Plugin = NonNullable<MarkdownOptions['preConfig']>;

const changeLinks: Plugin = (md) => {
  md.core.ruler.push('site_links', ({ tokens, env }) => {
    const page = relative(ROOT, env.realPath ?? env.path);
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const link = token.type === 'link_open' ? linkFrom(page, token.attrGet('href') ?? '') : null;
      if (link === null) continue;
      const target = pageOf(link.source);
      if (target === null) linkedFiles.add(link.source);
      token.attrSet('href', `/${target ?? fileOf(link.source)}${link.anchor === '' ? '' : `#${link.anchor}`}`);
      // The router of the site would look for a page.
      if (target === null) token.attrSet('target', '_self');
    }
  });
};

/** Vue is installed beside this folder and not above the pages, where it would be looked for. */
const findVue = {
  name: 'find-vue',
  enforce: 'pre' as const,
  resolveId(id: string, _importer: string | undefined, { ssr = false }: { ssr?: boolean }) {
    return ssr && /^vue(\/|$)/.test(id) ? { id, external: true } : null;
  },
};

export default defineConfig({
  title: 'Paybell',
  description: 'Webhooks for crypto payments: register, list and deliver, from one command',
  lang: 'en',
  srcDir: '..',
  srcExclude: ['README.md', '{bench,dist,mutants,package,src,test}/**', 'site/node_modules/**'],
  outDir: '../dist/site',
  rewrites: (source) => pageOf(source) ?? source,
  ignoreDeadLinks: 'localhostLinks',
  head: [['link', { rel: 'icon', href: ICON_URL }]],
  markdown: { anchor: { slugify: anchorOf }, toc: { slugify: anchorOf }, preConfig: changeLinks },
  themeConfig: {
    logo: { src: ICON_URL, alt: '' },
    nav: [
      { text: tours?.text ?? '', items: tours?.items ?? [] },
      { text: 'Contents', link: '/contents' },
      { text: `Version ${version}`, link: '/changelog' },
    ],
    sidebar: [...(tours === undefined ? [] : [tours]), ...others.map((section) => ({ ...section, collapsed: false }))],
    outline: [2, 3],
    search: { provider: 'local' },
    externalLinkIcon: true,
    footer: { message: `Paybell ${version}, under the MIT licence` },
  },
  vite: { plugins: [findVue] },
  buildEnd({ outDir }) {
    for (const source of linkedFiles) {
      const target = join(outDir, fileOf(source));
      mkdirSync(dirname(target), { recursive: true });
      copyFileSync(join(ROOT, source), target);
    }
  },
});
