import { asMarkdown, describeMachine, publishSections, readSection } from '../docs/publish.ts';
import { FAULTS } from './catalogue.ts';
import type { Result } from './fault.ts';
import { cellsOf, HEADINGS } from './report.ts';

const PAGE = '../faults/RESULTS.md';
const TOOL = 'faults';

/** Writes the rows of a run into the table of RESULTS.md, between its markers. The rows of other faults stay. */
export function publish(results: readonly Result[]): void {
  const date = new Date().toISOString().slice(0, 10);
  const rows = new Map([
    ...rowsIn(readSection(PAGE, TOOL, 'table')),
    ...results.map((result) => [keyOf(result.fault, result.engine), [...cellsOf(result), date]] as const),
  ]);
  const inOrder = FAULTS.flatMap(({ name, engines }) => engines.map((engine) => rows.get(keyOf(name, engine))));
  publishSections(PAGE, TOOL, {
    run: `Each row has the date of its run, on ${describeMachine()}.`,
    table: asMarkdown(
      [...HEADINGS, 'date'],
      inOrder.filter((row) => row !== undefined),
    ),
    faults: asMarkdown(
      ['fault', 'what happens'],
      FAULTS.map(({ name, what }) => [`\`${name}\``, what]),
    ),
  });
}

const keyOf = (fault: string, engine: string) => `${fault} ${engine}`;

/** The cells of each line of a Markdown table, but for its two lines of headings. */
function rowsIn(table: string): Map<string, readonly string[]> {
  const lines = table.split('\n').filter((line) => line.startsWith('|'));
  const rows = lines.slice(2).map((line) => line.slice(2, -2).split(' | '));
  return new Map(rows.map((cells) => [keyOf(cells[0] ?? '', cells[1] ?? ''), cells]));
}
