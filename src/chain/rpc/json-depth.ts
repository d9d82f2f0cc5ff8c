/** Limit on the nesting of a document. No honest answer of a node is nested more deeply. */
const MAX_DEPTH = 32;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Brackets and braces differ only in this bit. */
const BRACE_BIT = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;

/**
 * Follows the brackets of a JSON document that arrives in chunks. `JSON.parse` takes seconds and gigabytes for
 * megabytes of opening brackets, so a document that is nested too deeply must not reach it. Skips texts from quote to
 * quote, because most bytes of an answer are in texts.
 */
export class JsonDepth {
  #depth = 0;
  #isInText = false;
  /** Whether the last chunk ended with a backslash that escapes the first byte of the next one. */
  #isEscaped = false;

  /** Returns whether the document is nested too deeply. If it is, the caller can stop reading. */
  isTooDeepAfter(chunk: Uint8Array): boolean {
    let at = 0;
    while (at < chunk.length) {
      if (this.#isInText) {
        at = this.#skipText(chunk, at);
        continue;
      }
      const byte = chunk[at++] ?? 0;
      if (byte === QUOTE) this.#isInText = true;
      else if ((byte | BRACE_BIT) === OPENING && ++this.#depth > MAX_DEPTH) return true;
      else if ((byte | BRACE_BIT) === CLOSING) this.#depth--;
    }
    return false;
  }

  /** Returns the position after the next quote, or after the chunk. */
  #skipText(chunk: Uint8Array, start: number): number {
    const from = this.#isEscaped ? start + 1 : start;
    this.#isEscaped = false;
    const quote = chunk.indexOf(QUOTE, from);
    const end = quote === -1 ? chunk.length : quote;
    let backslashes = 0;
    while (end - 1 - backslashes >= from && chunk[end - 1 - backslashes] === BACKSLASH) backslashes++;
    const isEscaping = backslashes % 2 === 1;
    if (quote === -1) this.#isEscaped = isEscaping;
    else if (!isEscaping) this.#isInText = false;
    return end + 1;
  }
}
