/**
 * Extracts sentences from documents (paragraphs, list items, table cells) and from sources (comments, strings, JSX text). Most
 * sentences are wrapped, so lines are joined first. Each sentence keeps the line on which it starts.
 */

type Kind = 'document' | 'cell' | 'comment' | 'text';
type Block = { readonly line: number; readonly kind: Kind; text: string };

export type Sentence = {
  readonly line: number;
  readonly kind: Kind;
  /** Without markup, and with `x` for code. */
  readonly text: string;
  readonly isFirst: boolean;
};

export function sentencesIn(file: string, text: string): Sentence[] {
  const blocks = file.endsWith('.md') ? markdownBlocks(text) : sourceBlocks(file, text);
  return blocks.flatMap(sentencesOf);
}

const CODE = '`x`';

/** Removes markup, and keeps every line break. */
function plain(markdown: string): string {
  const breaksOf = (text: string) => text.replace(/[^\n]/g, '');
  return markdown
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/`[^`]*`/g, (code) => CODE + breaksOf(code))
    .replace(/\*\*|__/g, '')
    .replace(/(?<!\w)\*([^*]+)\*(?!\w)/g, '$1')
    .replace(/<[^>]+>/g, breaksOf)
    .replace(/\b(e\.g|i\.e|etc|vs)\./g, '$1');
}

function sentencesOf({ line, kind, text }: Block): Sentence[] {
  let at = line;
  return plain(text)
    .split(/(?<=[.!?])(?=\s+[A-Z0-9`"'(])/)
    .map((sentence) => {
      const start = at + (/^\s*/.exec(sentence)?.[0].split('\n').length ?? 1) - 1;
      at += sentence.split('\n').length - 1;
      return { line: start, kind, text: sentence.replace(/\s+/g, ' ').trim() };
    })
    .filter((sentence) => sentence.text !== '')
    .map((sentence, index) => ({ ...sentence, isFirst: index === 0 }));
}

/** Paragraphs, list items and table cells, without fenced code. */
function markdownBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let isFenced = false;
  let isOpen = false;
  text.split('\n').forEach((raw, index) => {
    const line = raw.trim();
    const isFence = /^(```|~~~)/.test(line);
    if (isFence) isFenced = !isFenced;
    const last = blocks.at(-1);
    const item = /^(?:[-*+]|\d+\.|#+)\s+/.exec(line);
    if (isFence || isFenced || line === '' || /^\|?[\s|:-]+\|?$/.test(line)) isOpen = false;
    else if (line.startsWith('|')) {
      isOpen = false;
      for (const cell of line.slice(1).split('|')) blocks.push({ line: index + 1, kind: 'cell', text: cell });
    } else if (last !== undefined && isOpen && item === null) last.text += `\n${line}`;
    else {
      blocks.push({ line: index + 1, kind: 'document', text: line.slice(item?.[0].length ?? 0) });
      isOpen = !line.startsWith('#');
    }
  });
  return blocks;
}

const COMMENT = /^[ \t]*(?:\/\*\*?([\s\S]*?)\*\/|((?:\/\/(?!\/| biome-ignore).*(?:\n[ \t]*(?=\/\/))?)+))/gm;
const QUOTED = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g;
/** Other expressions rarely have quotation marks, and a path in a string could be taken for one. */
const ANCHORED_EXPRESSION = /\/\^(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/g;
const NAME = /[A-Za-z_$][\w$]*/g;
const SQL = /\b(select|insert into|update \w+ set|delete from|where|create (table|index)|alter table|order by)\b/;

/** Comments, and the strings and JSX texts that have at least three words. */
function sourceBlocks(file: string, source: string): Block[] {
  const blocks: Block[] = [];
  const lineAt = lineCounter(source);
  for (const match of source.matchAll(COMMENT))
    blocks.push(...commentBlocks(lineAt(match.index), match[1] ?? match[2] ?? ''));
  const code = withoutComments(source).replace(ANCHORED_EXPRESSION, '');
  const lineInCode = lineCounter(code);
  for (const match of code.matchAll(QUOTED)) {
    const text = (match[1] ?? match[2] ?? match[3] ?? '').replace(/\$\{[^}]*\}/g, CODE);
    if (!SQL.test(text) && /[a-z]{2,} [a-z]+ [a-z]+/.test(text))
      blocks.push({ line: lineInCode(match.index), kind: 'text', text });
  }
  if (!file.endsWith('.tsx')) return blocks;
  const lineInJsx = lineCounter(code);
  for (const { index, 0: whole, 1: text = '' } of code.matchAll(/>\s*([A-Z][^<>{}=;]{8,}?)\s*[<{]/g))
    blocks.push({ line: lineInJsx(index + whole.indexOf(text)), kind: 'text', text });
  return blocks;
}

/** Returns a function for the line of an index. Indexes must not decrease, so that every character is read once. */
function lineCounter(text: string): (index: number) => number {
  let line = 1;
  let next = text.indexOf('\n');
  return (index) => {
    for (; next >= 0 && next < index; next = text.indexOf('\n', next + 1)) line++;
    return line;
  };
}

/** Paragraphs and list items of a comment, without tables and drawings. */
function commentBlocks(firstLine: number, comment: string): Block[] {
  const blocks: Block[] = [];
  let open: 'none' | 'paragraph' | 'item' = 'none';
  comment.split('\n').forEach((raw, index) => {
    const line = raw.replace(/^\s*(?:\*|\/\/)? ?/, '');
    const last = blocks.at(-1);
    const isItem = line.startsWith('- ');
    const isDrawing = /^\s*\|/.test(line) || (open !== 'item' && /^ {2,}\S/.test(line));
    if (line.trim() === '' || isDrawing) open = 'none';
    else if (last !== undefined && open !== 'none' && !isItem) last.text += `\n${line}`;
    else {
      blocks.push({ line: firstLine + index, kind: 'comment', text: isItem ? line.slice(2) : line });
      open = isItem ? 'item' : 'paragraph';
    }
  });
  return blocks;
}

function withoutComments(source: string): string {
  return source.replace(COMMENT, (comment) => comment.replace(/[^\n]/g, ' '));
}

/** Each name in the code, once. Strings of several words are not names. */
export function namesIn(source: string): Set<string> {
  const code = withoutComments(source).replace(QUOTED, (text) => (/\s/.test(text) ? ' ' : text));
  return new Set(code.match(NAME));
}

/** The first line with a name outside of comments. */
export function lineOfName(source: string, name: string): number {
  const lines = withoutComments(source).split('\n');
  return lines.findIndex((line) => line.match(NAME)?.includes(name)) + 1;
}
