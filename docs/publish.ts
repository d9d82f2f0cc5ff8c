import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { resolve } from 'node:path';

/** Writes results of a run into a page of the documentation, between the markers `<!-- <tool>:<section> -->`. */
export function publishSections(page: string, tool: string, sections: Readonly<Record<string, string>>): void {
  const path = resolve(import.meta.dir, page);
  let text = readFileSync(path, 'utf8');
  for (const [name, section] of Object.entries(sections)) text = replaceSection(page, text, `${tool}:${name}`, section);
  writeFileSync(path, text);
}

/** What is between these markers now. */
export function readSection(page: string, tool: string, name: string): string {
  const text = readFileSync(resolve(import.meta.dir, page), 'utf8');
  const { from, to } = boundsOf(page, text, `${tool}:${name}`);
  return text.slice(from, to).trim();
}

function replaceSection(page: string, text: string, name: string, section: string): string {
  const { from, to } = boundsOf(page, text, name);
  return `${text.slice(0, from)}\n\n${section}\n\n${text.slice(to)}`;
}

function boundsOf(page: string, text: string, name: string): { from: number; to: number } {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`docs/${page} has no section ${name}: add ${begin} and ${end}`);
  return { from: from + begin.length, to };
}

export function asMarkdown(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(headings), line(headings.map(() => '---')), ...rows.map(line)].join('\n');
}

/** A table of results that runs of a part of it update. */
export type ResultTable = {
  readonly page: string;
  readonly tool: string;
  readonly section: string;
  /** How many cells name a row, from the first one on. */
  readonly keyCells: number;
  /** The key cells of each row, in the order of the table. Rows with other keys leave it. */
  readonly order: readonly (readonly string[])[];
};

/** Returns the rows of the table with those of a run in place of earlier ones, each with the date of its run. */
export function mergeRows(
  { page, tool, section, keyCells, order }: ResultTable,
  found: readonly (readonly string[])[],
): (readonly string[])[] {
  const date = new Date().toISOString().slice(0, 10);
  const keyOf = (cells: readonly string[]) => cells.slice(0, keyCells).join(' ');
  const all = [...rowsIn(readSection(page, tool, section)), ...found.map((cells) => [...cells, date])];
  const rows = new Map(all.map((cells) => [keyOf(cells), cells]));
  return order.flatMap((key) => {
    const row = rows.get(keyOf(key));
    return row === undefined ? [] : [row];
  });
}

/** The cells of each line of a Markdown table, except for its two lines of headings. */
function rowsIn(table: string): string[][] {
  const lines = table.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) => line.slice(2, -2).split(' | '));
}

/** For a table whose rows have dates. */
export function describeRows(): string {
  return `Each row has the date of its run, on ${describeMachine()}.`;
}

export function describeMachine(): string {
  return `${cpus().length} cores and ${Math.round(totalmem() / 1024 ** 3)} GiB of memory, Bun ${Bun.version}`;
}
