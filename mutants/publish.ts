import { asMarkdown, describeRun, publishSections } from '../docs/publish.ts';
import type { Result } from './mutant.ts';
import { cellsOf, HEADINGS, shareOfShort } from './report.ts';

/** Writes the table of a complete run into faults/RESULTS.md, between its markers. */
export function publish(results: readonly Result[], command: string, seconds: number): void {
  const minutes = Math.ceil(seconds / 60);
  publishSections('../faults/RESULTS.md', 'mutants', {
    run: `${describeRun(command)} ${results.length} mutants, all caught, in ${minutes} minutes. ${shareOfShort(results)}`,
    table: asMarkdown(
      HEADINGS,
      results.map(cellsOf).map(([name, ...cells]) => [`\`${name}\``, ...cells]),
    ),
  });
}
