import { resolve } from 'node:path';

export const ROOT = resolve(import.meta.dir, '../..');

/** Pages of docs/, whose commands are run from top to bottom. */
export const COMMAND_PAGES = [...new Bun.Glob('docs/**/*.md').scanSync(ROOT)].sort();

export type Block = {
  readonly language: string;
  readonly text: string;
  /** Where the block begins, as `docs/deploy.md:12`. */
  readonly place: string;
  /** The text between the previous block and this one. */
  readonly prose: string;
};

const FENCE = /^```(\w*)\n([\s\S]*?)^```$/gm;

export const readPage = (page: string) => Bun.file(resolve(ROOT, page)).text();

/** Every fenced block of a page, of one section, or above the first section. */
export async function blocksOf(page: string, heading?: string | null): Promise<Block[]> {
  const text = await readPage(page);
  const [from, to] = heading === undefined ? [0, text.length] : rangeOf(text, heading);
  let end = from;
  return [...text.slice(0, to).matchAll(FENCE)]
    .filter((match) => match.index >= from)
    .map((match) => {
      const [all, language = '', body = ''] = match;
      const prose = text.slice(end, match.index);
      end = match.index + all.length;
      const line = text.slice(0, match.index).split('\n').length + 1;
      return { language, text: body, prose, place: `${page}:${line}` };
    });
}

function rangeOf(text: string, heading: string | null): [number, number] {
  if (heading === null) return [0, text.indexOf('\n## ')];
  const from = text.indexOf(`\n## ${heading}\n`);
  if (from < 0) throw new Error(`there is no section "${heading}"`);
  const next = text.indexOf('\n## ', from + 1);
  return [from, next < 0 ? text.length : next];
}

/** The shell blocks of a section. */
export async function shellBlocksUnder(page: string, heading: string): Promise<Block[]> {
  return (await blocksOf(page, heading)).filter(({ language }) => language === 'sh');
}

/** Why a block is not run, from the line above it. */
export function reasonNotToRun({ prose }: Block): string | null {
  return /\*Not run in our tests: ([^*]+)\*\s*$/.exec(prose)?.[1]?.replace(/\s+/g, ' ') ?? null;
}

/** The file name in the comment on the first line of a block, under which the block is saved. */
export function fileNameOf({ language, text }: Block): string | null {
  return language === 'sh' ? null : (/^(?:\/\/|#) ([\w/-]+(?:\.[a-z]+)+)\b/.exec(text)?.[1] ?? null);
}
