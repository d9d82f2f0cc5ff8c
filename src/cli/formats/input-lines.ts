/** No webhook is longer on a line, however its characters are escaped; what is longer is passed over, never held. */
export const MAX_LINE_BYTES = 16 * 1024;

export type InputLine = { line: number; text: string } | { line: number; fault: string };

const NEWLINE = 0x0a;
const BYTE_ORDER_MARK = '\ufeff';

/** Numbered from 1, without line ends; holds no more than one line at a time. */
export async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<InputLine> {
  const lines = new LineSplitter();
  for await (const chunk of chunks) yield* lines.push(chunk);
  yield* lines.end();
}

class LineSplitter {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #line = 0;

  *push(chunk: Uint8Array): Generator<InputLine> {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end < 0) break;
      yield this.#complete(chunk.subarray(start, end));
      start = end + 1;
    }
    this.#hold(chunk.subarray(start));
  }

  *end(): Generator<InputLine> {
    if (this.#heldBytes > 0) yield this.#complete(new Uint8Array());
  }

  #hold(rest: Uint8Array): void {
    this.#heldBytes += rest.length;
    if (this.#heldBytes > MAX_LINE_BYTES) this.#held = [];
    else if (rest.length > 0) this.#held.push(rest.slice());
  }

  #complete(rest: Uint8Array): InputLine {
    const line = ++this.#line;
    const tooLong = this.#heldBytes + rest.length > MAX_LINE_BYTES;
    const bytes = this.#held.length === 0 ? rest : Buffer.concat([...this.#held, rest]);
    this.#held = [];
    this.#heldBytes = 0;
    if (tooLong) return { line, fault: `is longer than ${MAX_LINE_BYTES} bytes` };
    const text = this.#decode(bytes);
    if (text === null) return { line, fault: 'is not valid UTF-8' };
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
