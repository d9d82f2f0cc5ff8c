import { cutText, isId } from './cut-text.ts';
import { paint, printLine, printNote } from './output.ts';
import { terminal } from './terminal.ts';

/** Tables for people: columns as wide as their widest cell and no borders, so that `cut` and `sort` can read them. */

export type Cells = readonly string[];

/** Columns that a table may shorten or lose on a narrow terminal, so that each row stays on one line. */
export type Fitting = {
  /** Columns that are cut, with the width that they keep, in the order in which they are cut. They are not painted. */
  readonly shorten: Readonly<Record<string, number>>;
  /** Columns that are left out, in this order, if cutting is not enough. */
  readonly leaveOut: readonly string[];
};

const WHOLE: Fitting = { shorten: {}, leaveOut: [] };
const GAP = '  ';
/** The text of a cell without a value. */
const NO_VALUE = '–';

export function printTable(headings: Cells, rows: readonly Cells[], empty: string, fitting: Fitting = WHOLE): void {
  if (rows.length === 0) {
    printLine(paint(empty, 'dim'));
    return;
  }
  const { isTTY, columns } = terminal().stdout;
  const { lines, leftOut, cutIds } = layOut(headings, rows, isTTY ? (columns ?? null) : null, fitting);
  for (const line of lines) printLine(line);
  const notes = [
    ...(leftOut.length === 0 ? [] : [`Hidden columns: ${leftOut.join(', ')}`]),
    ...(cutIds.length === 0 ? [] : [`Shortened: ${cutIds.join(', ')}`]),
  ];
  if (notes.length > 0) printNote(`${notes.join('. ')} (use --json or a wider terminal)`);
}

/** If a table does not fit, columns without a value go first, then those that it may leave out. If that is not enough, each row becomes lines. */
export function layOut(
  headings: Cells,
  rows: readonly Cells[],
  terminalColumns: number | null,
  fitting: Fitting = WHOLE,
): { lines: string[]; leftOut: Cells; cutIds: Cells } {
  const isWhole = fit(headings, rows, terminalColumns, WHOLE) !== null;
  const hasValue = headings.map((_, column) => isWhole || rows.some((row) => row[column] !== NO_VALUE));
  for (let left = 0; left <= fitting.leaveOut.length; left++) {
    const leftOut = fitting.leaveOut.slice(0, left);
    const kept = headings.flatMap((heading, column) =>
      leftOut.includes(heading) || !hasValue[column] ? [] : [column],
    );
    const pick = (cells: Cells) => kept.map((column) => cells[column] ?? '');
    const widths = fit(pick(headings), rows.map(pick), terminalColumns, fitting);
    if (widths === null) continue;
    const shown = rows.map(pick);
    return {
      lines: tableLines(pick(headings), shown, widths),
      leftOut,
      cutIds: cutIdsOf(pick(headings), shown, widths),
    };
  }
  return { lines: blocks(headings, rows), leftOut: [], cutIds: [] };
}

/** The widths of the columns, or null if they do not fit. */
function fit(
  headings: Cells,
  rows: readonly Cells[],
  terminalColumns: number | null,
  { shorten }: Fitting,
): number[] | null {
  const widths = headings.map((heading, column) =>
    Math.max(Bun.stringWidth(heading), ...rows.map((row) => Bun.stringWidth(row[column] ?? ''))),
  );
  const tableWidth = widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
  let excess = terminalColumns === null ? 0 : Math.max(0, tableWidth - terminalColumns);
  for (const [heading, least] of Object.entries(shorten)) {
    const column = headings.indexOf(heading);
    const width = widths[column] ?? 0;
    const cut = Math.min(excess, Math.max(0, width - Math.max(least, heading.length)));
    if (column !== -1) widths[column] = width - cut;
    excess -= cut;
  }
  return excess === 0 ? widths : null;
}

function tableLines(headings: Cells, rows: readonly Cells[], widths: readonly number[]): string[] {
  const line = (cells: Cells) =>
    cells
      .map((cell, column) => padTo(widths[column] ?? 0, cutText(headings[column] ?? '', cell, widths[column] ?? 0)))
      .join(GAP)
      .trimEnd();
  return [paint(line(headings), 'bold'), ...rows.map(line)];
}

/** The columns with cut ids. A note names them, because a cut id cannot be copied. */
function cutIdsOf(headings: Cells, rows: readonly Cells[], widths: readonly number[]): Cells {
  return headings.filter(
    (heading, column) =>
      isId(heading) && rows.some((row) => Bun.stringWidth(row[column] ?? '') > (widths[column] ?? 0)),
  );
}

function blocks(headings: Cells, rows: readonly Cells[]): string[] {
  const width = Math.max(...headings.map((heading) => Bun.stringWidth(heading)));
  return rows.flatMap((row, index) => [
    ...(index === 0 ? [] : ['']),
    ...headings.map((heading, column) => `${paint(padTo(width, heading), 'bold')}${GAP}${row[column] ?? ''}`.trimEnd()),
  ]);
}

function padTo(width: number, text: string): string {
  return text + ' '.repeat(Math.max(0, width - Bun.stringWidth(text)));
}

/** The fields of one item, one per line. */
export function printFields(fields: Readonly<Record<string, string>>): void {
  const width = Math.max(...Object.keys(fields).map((name) => name.length));
  for (const [name, value] of Object.entries(fields)) printLine(`${paint(name.padEnd(width), 'bold')}${GAP}${value}`);
}

/** Printed only when there are more results than the page shows. */
export function printTotal(totalResults: number, shown: number, isExact = true): void {
  const total = isExact ? String(totalResults) : `more than ${totalResults}`;
  if (shown < totalResults) printNote(`${shown} of ${total}; see the others with --page and --limit`);
}
