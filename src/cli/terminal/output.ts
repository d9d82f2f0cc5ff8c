/** Tables for people, JSON for programs, errors on standard error. */

const COLOUR = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;

export function paint(text: string, colour: keyof typeof COLOUR, stream: { isTTY?: boolean } = process.stdout): string {
  const wanted = stream.isTTY === true && !process.env.NO_COLOR;
  return wanted ? `\x1b[${COLOUR[colour]}m${text}\x1b[0m` : text;
}

export function printLine(text = ''): void {
  process.stdout.write(`${text}\n`);
}

/** In the form that Commander prints its own errors. */
export function printError(text: string): void {
  process.stderr.write(`${paint('error:', 'red', process.stderr)} ${text}\n`);
}

export function printWarning(text: string): void {
  process.stderr.write(`${paint('warning:', 'yellow', process.stderr)} ${text}\n`);
}

/** Text from elsewhere may hold control sequences, which must not reach the terminal. */
export function printable(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, '�');
}

export function printJson(value: unknown): void {
  printLine(JSON.stringify(value));
}

export function printTable(headings: readonly string[], rows: readonly (readonly string[])[], empty: string): void {
  if (rows.length === 0) {
    printLine(paint(empty, 'dim'));
    return;
  }
  const { isTTY, columns } = process.stdout;
  for (const line of layOut(headings, rows, isTTY ? columns : null)) printLine(line);
}

/**
 * Columns as wide as their widest cell and no borders, so that `cut` and `sort` can read the table. Where the terminal
 * is too narrow and every row would wrap, each row becomes a block of lines.
 */
export function layOut(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  terminalColumns: number | null,
): string[] {
  const widths = headings.map((heading, column) =>
    Math.max(Bun.stringWidth(heading), ...rows.map((row) => Bun.stringWidth(row[column] ?? ''))),
  );
  const tableWidth = widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
  if (terminalColumns !== null && tableWidth > terminalColumns) return blocks(headings, rows);
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => padTo(widths[column] ?? 0, cell))
      .join(GAP)
      .trimEnd();
  return [paint(line(headings), 'bold'), ...rows.map(line)];
}

const GAP = '  ';

function blocks(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const width = Math.max(...headings.map((heading) => Bun.stringWidth(heading)));
  return rows.flatMap((row, index) => [
    ...(index === 0 ? [] : ['']),
    ...headings.map((heading, column) => `${paint(padTo(width, heading), 'bold')}${GAP}${row[column] ?? ''}`.trimEnd()),
  ]);
}

function padTo(width: number, text: string): string {
  return text + ' '.repeat(width - Bun.stringWidth(text));
}

/** The fields of one item, one per line. */
export function printFields(fields: Readonly<Record<string, string>>): void {
  const width = Math.max(...Object.keys(fields).map((name) => name.length));
  for (const [name, value] of Object.entries(fields)) printLine(`${paint(name.padEnd(width), 'bold')}${GAP}${value}`);
}

/** Printed only when there are more results than the page shows. */
export function printTotal(totalResults: number, shown: number): void {
  if (shown < totalResults)
    printLine(paint(`${shown} of ${totalResults}; see the others with --page and --limit`, 'dim'));
}

export function showDate(dateS: number | null): string {
  return dateS === null ? '–' : new Date(dateS * 1000).toISOString().replace('.000Z', 'Z');
}

/** The time of day in the time zone of this machine. */
export function showTime(timeMs: number): string {
  return new Date(timeMs).toTimeString().slice(0, 8);
}
