import { z } from 'zod';
import type { BookEntry } from '../../domain/reconciliation/book.ts';
import { CommandError } from '../terminal/command-error.ts';
import { parseCsvLine } from './csv.ts';
import { readLines } from './input-lines.ts';

/** A receiver's own list of events: JSON Lines, or CSV with a header, by the name of the file. */

const MAX_ENTRIES = 1_000_000;

const text = z.union([z.string(), z.int().transform(String)]).nullish();
const entrySchema = z.object({ eventId: z.string().min(1), event: z.string().min(1), token: text, amount: text });

const RULE = 'needs eventId and event, and may have token and amount, the amount as text such as "25.00"';

export async function readBook(file: string): Promise<BookEntry[]> {
  if (!(await Bun.file(file).exists())) throw new CommandError(`cannot read ${file}`);
  const entries: BookEntry[] = [];
  let columns: readonly string[] | null = null;
  for await (const line of readLines(Bun.file(file).stream())) {
    const failure = (reason: string) => new CommandError(`${file}: line ${line.line} ${reason}`);
    if ('error' in line) throw failure(line.error);
    if (line.text.trim() === '') continue;
    if (entries.length === MAX_ENTRIES) throw new CommandError(`${file} has more than ${MAX_ENTRIES} events; split it`);
    if (!file.toLowerCase().endsWith('.csv')) {
      entries.push(check(parseJson(line.text), failure));
      continue;
    }
    const cells = parseCsvLine(line.text);
    if (cells === null) throw failure('is not valid CSV: a quote is misplaced or not closed');
    if (columns === null) columns = cells;
    else entries.push(check(recordOf(columns, cells), failure));
  }
  return entries;
}

function check(value: unknown, failure: (reason: string) => CommandError): BookEntry {
  const parsed = entrySchema.safeParse(value);
  if (!parsed.success) throw failure(RULE);
  return parsed.data;
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

function recordOf(columns: readonly string[], cells: readonly string[]): Record<string, string> {
  const filled = columns.map((column, index) => [column, cells[index] ?? ''] as const);
  return Object.fromEntries(filled.filter(([, cell]) => cell !== ''));
}
