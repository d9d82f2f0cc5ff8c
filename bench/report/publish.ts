import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { asMarkdown, describeMachine, publishSections } from '../../docs/publish.ts';
import { drawChart } from './charts.ts';
import { type Results, tableAsMarkdown } from './report.ts';

/**
 * Writes the table and the charts of a full run into docs/performance.md, between its markers. A full run publishes its
 * results itself; `npx bun bench/report/publish.ts bench/results/<date>.json` repeats it.
 */

const IMAGES = resolve(import.meta.dir, '../../docs/images');

export function publish(results: Results): void {
  for (const chart of results.charts) writeFileSync(`${IMAGES}/bench-${chart.name}.svg`, drawChart(chart));
  publishSections('performance.md', 'bench', {
    table: tableAsMarkdown(results.rows),
    charts: results.charts.map(({ name, title }) => `![${title}](images/bench-${name}.svg)`).join('\n\n'),
    machine: machineAsMarkdown(results),
  });
}

/** The comparison is published by itself, since few machines have what its peers need. */
export function publishPeers({ date, comparison }: Results): void {
  if (comparison === null) return;
  const table = asMarkdown(comparison.headings, comparison.lines);
  publishSections('performance.md', 'bench', { peers: `${date.slice(0, 10)}, ${describeMachine()}:\n\n${table}` });
}

function machineAsMarkdown({ date, machine }: Results): string {
  const facts = Object.entries(machine).map(([name, value]) => `- ${name}: ${value}`);
  return [`- date: ${date.slice(0, 10)}`, ...facts].join('\n');
}

if (import.meta.main) {
  const results = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Results;
  if (results.rows.length > 0) publish(results);
  publishPeers(results);
}
