import { CommandError } from '../terminal/command-error.ts';

/** Longer than the line of any webhook with its filter. A longer line is skipped, and not kept in memory. */
export const MAX_LINE_BYTES = 512 * 1024;

export type InputLine = { line: number; text: string } | { line: number; error: string };

const NEWLINE = 0x0a;
const BYTE_ORDER_MARK = '\ufeff';

/** The lines of a stream, numbered from 1 and without line ends. At most one line is in memory. */
export async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<InputLine> {
  const lines = new LineSplitter();
  for await (const chunk of chunks) yield* lines.push(chunk);
  yield* lines.end();
}

class LineSplitter {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #line = 0;

  *push(chunk: Uint8Array): Generator<InputLine> {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end < 0) break;
      yield this.#complete(chunk.subarray(start, end));
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
  }

  *end(): Generator<InputLine> {
    if (this.#pendingBytes > 0) yield this.#complete(new Uint8Array());
  }

  #keep(rest: Uint8Array): void {
    this.#pendingBytes += rest.length;
    if (this.#pendingBytes > MAX_LINE_BYTES) this.#pending = [];
    else if (rest.length > 0) this.#pending.push(rest.slice());
  }

  #complete(rest: Uint8Array): InputLine {
    const line = ++this.#line;
    const tooLong = this.#pendingBytes + rest.length > MAX_LINE_BYTES;
    const bytes = this.#pending.length === 0 ? rest : Buffer.concat([...this.#pending, rest]);
    this.#pending = [];
    this.#pendingBytes = 0;
    if (tooLong) return { line, error: `is longer than ${MAX_LINE_BYTES} bytes` };
    const text = this.#decode(bytes);
    if (text === null) return { line, error: 'is not valid UTF-8' };
    return { line, text: line === 1 && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text };
  }

  #decode(bytes: Uint8Array): string | null {
    try {
      const text = this.#decoder.decode(bytes);
      return text.endsWith('\r') ? text.slice(0, -1) : text;
    } catch {
      return null;
    }
  }
}

/**
 * Limit on a list, which is read as a whole because it can have any number of lines. 64 MiB are more than 100,000
 * webhooks.
 */
const MAX_LIST_BYTES = 64 * 1024 * 1024;

/**
 * Returns the elements of a list as separate lines, numbered from 1. The input is the response of a list operation,
 * several responses in lines, or an array. The oldest come first, as in an export: dates never decrease in a database.
 */
export async function* readList(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<InputLine> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > MAX_LIST_BYTES) throw new CommandError(`the list is longer than ${MAX_LIST_BYTES} bytes; split it`);
    parts.push(chunk);
  }
  const elements = parseList(new TextDecoder().decode(Buffer.concat(parts)));
  const ordered = elements.toSorted((a, b) => dateOf(a) - dateOf(b));
  for (const [index, element] of ordered.entries()) yield { line: index + 1, text: JSON.stringify(element) };
}

function parseList(text: string): unknown[] {
  try {
    return elementsOf(JSON.parse(text));
  } catch {
    try {
      const lines = text.split('\n').filter((line) => line.trim() !== '');
      return lines.flatMap((line) => elementsOf(JSON.parse(line)));
    } catch {
      throw new CommandError('the list is not valid JSON');
    }
  }
}

function elementsOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(elementsOf);
  const inner = typeof value === 'object' && value !== null && 'webhooks' in value ? value.webhooks : null;
  return Array.isArray(inner) ? inner : [value];
}

/** The creation date of a webhook. A webhook without a date is the newest, because the import creates it. */
function dateOf(element: unknown): number {
  const date = typeof element === 'object' && element !== null && 'dateCreated' in element ? element.dateCreated : null;
  return typeof date === 'number' ? date : Number.MAX_SAFE_INTEGER;
}
