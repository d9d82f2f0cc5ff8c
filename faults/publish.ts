import { asMarkdown, describeRows, mergeRows, publishSections } from '../docs/publish.ts';
import { FAULTS } from './catalogue.ts';
import type { Result } from './fault.ts';
import { cellsOf, HEADINGS } from './report.ts';

const PAGE = '../faults/RESULTS.md';
const TOOL = 'faults';

/** Writes the rows of a run into the table of RESULTS.md, between its markers. The rows of other faults stay. */
export function publish(results: readonly Result[]): void {
  const order = FAULTS.flatMap(({ name, engines }) => engines.map((engine) => [name, engine]));
  const rows = mergeRows({ page: PAGE, tool: TOOL, section: 'table', keyCells: 2, order }, results.map(cellsOf));
  publishSections(PAGE, TOOL, {
    run: describeRows(),
    table: asMarkdown([...HEADINGS, 'date'], rows),
    faults: asMarkdown(
      ['fault', 'what happens'],
      FAULTS.map(({ name, what }) => [`\`${name}\``, what]),
    ),
  });
}
