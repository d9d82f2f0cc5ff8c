/** Comma-separated values by RFC 4180, for values that hold no line break: so a line is always a whole record. */

const CELL = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;

export function toCsvLine(cells: readonly string[]): string {
  return cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',');
}

/** Answers null when a quote stands where none may, or is not closed. */
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
