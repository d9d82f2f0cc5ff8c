import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { FAULTS } from './catalogue.ts';
import type { Result } from './fault.ts';
import { cellsOf, HEADINGS } from './report.ts';

/** Puts the table of a whole run into docs/reliability.md, between its markers. */

const PAGE = resolve(import.meta.dir, '../docs/reliability.md');

export function publish(results: readonly Result[], command: string): void {
  const sections: Readonly<Record<string, string>> = {
    run: `Last complete run: ${new Date().toISOString().slice(0, 10)}, \`${command}\`, on ${describeMachine()}.`,
    table: asMarkdown(HEADINGS, results.map(cellsOf)),
    faults: asMarkdown(
      ['fault', 'what happens'],
      FAULTS.map(({ name, what }) => [`\`${name}\``, what]),
    ),
  };
  let page = readFileSync(PAGE, 'utf8');
  for (const [name, text] of Object.entries(sections)) page = replaceSection(page, name, text);
  writeFileSync(PAGE, page);
}

function describeMachine(): string {
  return `${cpus().length} cores and ${Math.round(totalmem() / 1024 ** 3)} GiB of memory, Bun ${Bun.version}`;
}

function asMarkdown(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(headings), line(headings.map(() => '---')), ...rows.map(line)].join('\n');
}

function replaceSection(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- faults:${name} -->`, `<!-- /faults:${name} -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`docs/reliability.md has no section ${name}`);
  return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`;
}
