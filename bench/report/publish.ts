import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { drawChart } from './charts.ts';
import { type Results, tableAsMarkdown } from './report.ts';

/**
 * Writes the table and the charts of a full run into docs/performance.md, between its markers. A full run publishes its
 * results itself; `npx bun bench/report/publish.ts bench/results/<date>.json` repeats it.
 */

const DOCUMENT = resolve(import.meta.dir, '../../docs/performance.md');
const IMAGES = resolve(import.meta.dir, '../../docs/images');

export function publish(results: Results): void {
  for (const chart of results.charts) writeFileSync(`${IMAGES}/bench-${chart.name}.svg`, drawChart(chart));
  const sections: Readonly<Record<string, string>> = {
    table: tableAsMarkdown(results.rows),
    charts: results.charts.map(({ name, title }) => `![${title}](images/bench-${name}.svg)`).join('\n\n'),
    machine: machineAsMarkdown(results),
  };
  let document = readFileSync(DOCUMENT, 'utf8');
  for (const [name, text] of Object.entries(sections)) document = replaceSection(document, name, text);
  writeFileSync(DOCUMENT, document);
}

function machineAsMarkdown({ date, machine }: Results): string {
  const facts = Object.entries(machine).map(([name, value]) => `- ${name}: ${value}`);
  return [`- date: ${date.slice(0, 10)}`, ...facts].join('\n');
}

function replaceSection(document: string, name: string, text: string): string {
  const [begin, end] = [`<!-- bench:${name} -->`, `<!-- /bench:${name} -->`];
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`docs/performance.md has no section ${name}: add ${begin} and ${end}`);
  return `${document.slice(0, from + begin.length)}\n\n${text}\n\n${document.slice(to)}`;
}

if (import.meta.main) publish(JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Results);
