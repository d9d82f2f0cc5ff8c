import { asMarkdown, describeRows, mergeRows, publishSections } from '../docs/publish.ts';
import type { Defect } from './mutant.ts';

const PAGE = '../faults/RESULTS.md';
const TOOL = 'mutants';

/** The sections of faults/RESULTS.md that have the results of a catalogue. */
export type Published = {
  readonly catalogue: readonly Defect[];
  readonly run: string;
  readonly table: string;
  readonly headings: readonly string[];
  /** What all rows of the table show together. */
  readonly summary: (rows: readonly (readonly string[])[]) => string;
};

/** Writes the rows of a run into the table of a catalogue, between its markers. The rows of other mutants stay. */
export function publish(
  { catalogue, run, table, headings, summary }: Published,
  found: readonly (readonly string[])[],
): void {
  const named = found.map(([name, ...cells]) => [quoted(name ?? ''), ...cells]);
  const order = catalogue.map(({ name }) => [quoted(name)]);
  const rows = mergeRows({ page: PAGE, tool: TOOL, section: table, keyCells: 1, order }, named);
  publishSections(PAGE, TOOL, {
    [run]: `${describeRows()} ${rows.length} mutants, all caught. ${summary(rows)}`,
    [table]: asMarkdown([...headings, 'date'], rows),
  });
}

const quoted = (name: string) => `\`${name}\``;
