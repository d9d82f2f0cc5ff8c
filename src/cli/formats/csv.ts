/** Comma-separated values (RFC 4180) without line breaks in a value, so that every line is a whole record. */

const CELL = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;

export function toCsvLine(cells: readonly string[]): string {
  return cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',');
}

/** The values of a line. Null if a quote is misplaced or not closed. */
export function parseCsvLine(line: string): string[] | null {
  const cells: string[] = [];
  CELL.lastIndex = 0;
  for (;;) {
    const match = CELL.exec(line);
    if (match === null) return null;
    cells.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
    if (match[3] === '') return cells;
  }
}
