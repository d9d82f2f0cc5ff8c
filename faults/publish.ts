import { asMarkdown, describeRun, publishSections } from '../docs/publish.ts';
import { FAULTS } from './catalogue.ts';
import type { Result } from './fault.ts';
import { cellsOf, HEADINGS } from './report.ts';

/** Writes the table of a complete run into docs/reliability.md, between its markers. */
export function publish(results: readonly Result[], command: string): void {
  publishSections('reliability.md', 'faults', {
    run: describeRun(command),
    table: asMarkdown(HEADINGS, results.map(cellsOf)),
    faults: asMarkdown(
      ['fault', 'what happens'],
      FAULTS.map(({ name, what }) => [`\`${name}\``, what]),
    ),
  });
}
