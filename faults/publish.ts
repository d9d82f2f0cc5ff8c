import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { FAULTS } from './catalogue.ts';
import type { Result } from './fault.ts';
import { cellsOf, HEADINGS } from './report.ts';

/** Writes the table of a complete run into docs/reliability.md, between its markers. */

const DOCUMENT = resolve(import.meta.dir, '../docs/reliability.md');

export function publish(results: readonly Result[], command: string): void {
  const sections: Readonly<Record<string, string>> = {
    run: `Last complete run: ${new Date().toISOString().slice(0, 10)}, \`${command}\`, on ${describeMachine()}.`,
    table: asMarkdown(HEADINGS, results.map(cellsOf)),
    faults: asMarkdown(
      ['fault', 'what happens'],
      FAULTS.map(({ name, what }) => [`\`${name}\``, what]),
    ),
  };
  let document = readFileSync(DOCUMENT, 'utf8');
  for (const [name, text] of Object.entries(sections)) document = replaceSection(document, name, text);
  writeFileSync(DOCUMENT, document);
}

function describeMachine(): string {
  return `${cpus().length} cores and ${Math.round(totalmem() / 1024 ** 3)} GiB of memory, Bun ${Bun.version}`;
}

function asMarkdown(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(headings), line(headings.map(() => '---')), ...rows.map(line)].join('\n');
}

function replaceSection(document: string, name: string, text: string): string {
  const [begin, end] = [`<!-- faults:${name} -->`, `<!-- /faults:${name} -->`];
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`docs/reliability.md has no section ${name}: add ${begin} and ${end}`);
  return `${document.slice(0, from + begin.length)}\n\n${text}\n\n${document.slice(to)}`;
}
