import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { asMarkdown, publishSections } from '../../docs/publish.ts';
import { drawChart } from './charts.ts';
import { tableAsMarkdown } from './report.ts';
import { readSummary, type Summary } from './summary.ts';

/**
 * Writes the tables and the charts of a summary into docs/performance.md, between its markers. A complete run publishes
 * its summary itself. `npx bun bench/report/publish.ts` repeats it, for a change of the layout.
 */

const IMAGES = resolve(import.meta.dir, '../../docs/images');

export function publish(summary: Summary): void {
  for (const [name, svg] of Object.entries(chartsOf(summary))) writeFileSync(`${IMAGES}/${name}`, svg);
  publishSections('performance.md', 'bench', sectionsOf(summary));
}

/** The SVG of each chart, by file name. */
export function chartsOf({ charts }: Summary): Record<string, string> {
  return Object.fromEntries(charts.map((chart) => [`bench-${chart.name}.svg`, drawChart(chart)]));
}

/** The text of each section of the page, by the name of its markers. */
export function sectionsOf({ date, machine, rows, charts, comparison }: Summary): Record<string, string> {
  const peers = asMarkdown(comparison.headings, comparison.lines);
  return {
    table: tableAsMarkdown(rows),
    charts: charts.map(({ name, title }) => `![${title}](images/bench-${name}.svg)`).join('\n\n'),
    machine: Object.entries({ date, ...machine })
      .map(([name, value]) => `- ${name}: ${value}`)
      .join('\n'),
    peers: `${comparison.date}, ${comparison.machine}:\n\n${peers}`,
  };
}

if (import.meta.main) publish(readSummary());
