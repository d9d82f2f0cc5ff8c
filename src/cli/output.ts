/** What commands print: tables for people, JSON for programs, errors on standard error. */

const COLOUR = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;

export function paint(text: string, colour: keyof typeof COLOUR, stream: { isTTY?: boolean } = process.stdout): string {
  const wanted = stream.isTTY === true && !process.env.NO_COLOR;
  return wanted ? `\x1b[${COLOUR[colour]}m${text}\x1b[0m` : text;
}

export function printLine(text = ''): void {
  process.stdout.write(`${text}\n`);
}

export function printError(text: string): void {
  process.stderr.write(`${paint('error', 'red', process.stderr)} ${text}\n`);
}

export function printJson(value: unknown): void {
  printLine(JSON.stringify(value));
}

/** Columns as wide as their widest cell; no lines drawn, so that it can be cut and sorted by other programs. */
export function printTable(headings: readonly string[], rows: readonly (readonly string[])[], empty: string): void {
  if (rows.length === 0) {
    printLine(paint(empty, 'dim'));
    return;
  }
  const widths = headings.map((heading, column) =>
    Math.max(Bun.stringWidth(heading), ...rows.map((row) => Bun.stringWidth(row[column] ?? ''))),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - Bun.stringWidth(cell)))
      .join('  ')
      .trimEnd();
  printLine(paint(line(headings), 'bold'));
  for (const row of rows) printLine(line(row));
}

/** Only when there is more than the page shows: otherwise the table says it all. */
export function printTotal(totalResults: number, shown: number): void {
  if (shown < totalResults) printLine(paint(`${shown} of ${totalResults}; --page and --limit show the others`, 'dim'));
}

export function showDate(dateS: number | null): string {
  return dateS === null ? '–' : new Date(dateS * 1000).toISOString().replace('.000Z', 'Z');
}
