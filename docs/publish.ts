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

/** When, how and where a run was made. */
export function describeRun(command: string): string {
  return `Last complete run: ${new Date().toISOString().slice(0, 10)}, \`${command.trim()}\`, on ${describeMachine()}.`;
}

export function describeMachine(): string {
  return `${cpus().length} cores and ${Math.round(totalmem() / 1024 ** 3)} GiB of memory, Bun ${Bun.version}`;
}
