import { posix } from 'node:path';

/** Where the pages of the repository are on the site. They stay where they are, so that GitHub shows them too. */

const ELSEWHERE: Readonly<Record<string, string>> = {
  'site/home.md': 'index.md',
  'docs/README.md': 'contents.md',
  'ARCHITECTURE.md': 'architecture.md',
  'CONTRIBUTING.md': 'contributing.md',
  'CHANGELOG.md': 'changelog.md',
  'SECURITY.md': 'reporting-vulnerabilities.md',
  'CODE_OF_CONDUCT.md': 'code-of-conduct.md',
  'examples/README.md': 'examples.md',
  'faults/RESULTS.md': 'trials.md',
};

/** The path of a file of the repository on the site, null if it is no page. */
export function pageOf(source: string): string | null {
  if (Object.hasOwn(ELSEWHERE, source)) return ELSEWHERE[source] ?? null;
  return /^docs\/(?:[\w-]+\/)*[\w-]+\.md$/.test(source) ? source.slice('docs/'.length) : null;
}

/** The same for a file that is not a page. Servers show a text, and download or play what they take for something else. */
export function fileOf(source: string): string {
  const name = source.replace(/(^|\/)\.(?=\w)/g, '$1');
  return `files/${name.endsWith('.json') ? name : `${name}.txt`}`;
}

export type Link = { readonly source: string; readonly anchor: string };

/** What a link on a page leads to; null for one that leaves the repository. */
export function linkFrom(page: string, href: string): Link | null {
  if (/^(?:[a-z]+:|\/)/i.test(href)) return null;
  const [path = '', anchor = ''] = href.split('#');
  const source = path === '' ? page : posix.join(posix.dirname(page), decodeURIComponent(path));
  return { source, anchor };
}

/** The anchor of a heading, as GitHub makes it. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}

type Section = {
  readonly title: string;
  readonly pages: readonly { readonly title: string; readonly source: string }[];
};

/** The sections of docs/README.md, with the page that each line begins with. */
export function sectionsOf(index: string): Section[] {
  return index
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      title: section.split('\n', 1)[0] ?? '',
      pages: [...section.matchAll(/^- \[([^\]]+)\]\(([^)]+)\)/gm)].map(([, title = '', path = '']) => ({
        title,
        source: posix.join('docs', path),
      })),
    }));
}
