import { badResponse } from './errors.ts';

/** Kept for the log: what a person needs to see why a post was turned down. */
const KEPT_MAX_BYTES = 1024;

const NOTHING = Buffer.alloc(0);

export interface BodyReader {
  /** What came after the body, once that is complete. */
  read(bytes: Buffer): Buffer | null;
}

export class PlainBody implements BodyReader {
  #left: number;

  constructor(
    private readonly kept: Kept,
    end: number | 'until the end',
  ) {
    this.#left = end === 'until the end' ? Number.POSITIVE_INFINITY : end;
  }

  read(bytes: Buffer): Buffer | null {
    const mine = bytes.length > this.#left ? bytes.subarray(0, this.#left) : bytes;
    this.kept.add(mine);
    this.#left -= mine.length;
    if (this.#left > 0) return null;
    return mine === bytes ? NOTHING : bytes.subarray(mine.length);
  }
}

/** With whatever may stand behind the number: extensions that nobody uses. */
const CHUNK_LINE = /^([0-9a-f]{1,12})[ \t]*(?:;.*)?$/i;
/** For the line before a chunk, and for all trailers together. */
const CHUNK_LINES_MAX_BYTES = 4 * 1024;

export class ChunkedBody implements BodyReader {
  #line = '';
  #lineBytes = 0;
  #left = 0;
  #expects: 'size' | 'data' | 'end of data' | 'trailer' = 'size';

  constructor(private readonly kept: Kept) {}

  read(bytes: Buffer): Buffer | null {
    let rest = bytes;
    while (rest.length > 0) {
      if (this.#expects === 'data') {
        rest = this.#readData(rest);
        continue;
      }
      const end = rest.indexOf(0x0a);
      this.#addToLine(rest.toString('latin1', 0, end === -1 ? rest.length : end));
      if (end === -1) return null;
      rest = rest.subarray(end + 1);
      if (this.#endLine()) return rest;
    }
    return null;
  }

  #readData(bytes: Buffer): Buffer {
    const data = bytes.length > this.#left ? bytes.subarray(0, this.#left) : bytes;
    this.kept.add(data);
    this.#left -= data.length;
    if (this.#left === 0) this.#expects = 'end of data';
    return bytes.subarray(data.length);
  }

  #addToLine(text: string): void {
    this.#line += text;
    this.#lineBytes += text.length;
    if (this.#lineBytes > CHUNK_LINES_MAX_BYTES) throw badResponse('chunk line too long');
  }

  /** Answers whether that was the last line of all. */
  #endLine(): boolean {
    const line = this.#line.endsWith('\r') ? this.#line.slice(0, -1) : this.#line;
    this.#line = '';
    if (this.#expects === 'trailer') return line === '';
    this.#lineBytes = 0;
    if (this.#expects === 'end of data') {
      if (line !== '') throw badResponse('malformed chunk');
      this.#expects = 'size';
      return false;
    }
    const size = CHUNK_LINE.exec(line)?.[1];
    if (size === undefined) throw badResponse('malformed chunk');
    this.#left = Number.parseInt(size, 16);
    this.#expects = this.#left === 0 ? 'trailer' : 'data';
    return false;
  }
}

const decoder = new TextDecoder();

/** The beginning of a body. */
export class Kept {
  /** Of the whole body as far as it came. */
  bytes = 0;
  readonly #parts: Buffer[] = [];
  /** How many of them are copies of our own. */
  #held = 0;

  add(part: Buffer): void {
    const room = KEPT_MAX_BYTES - this.bytes;
    this.bytes += part.length;
    if (room > 0 && part.length > 0) this.#parts.push(part.length > room ? part.subarray(0, room) : part);
  }

  /** More is to come, and the runtime may use the memory of what it handed out for what it reads next. */
  hold(): void {
    for (let at = this.#held; at < this.#parts.length; at++) this.#parts[at] = Buffer.from(this.#parts[at] ?? NOTHING);
    this.#held = this.#parts.length;
  }

  /** PostgreSQL takes neither broken UTF-8 nor NUL, and one such answer would fail a whole batch of writes. */
  text(): string {
    const kept = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts);
    const wasCut = this.bytes > KEPT_MAX_BYTES;
    // As a stream, so that a character split by our own cut is left out and not marked as broken.
    const text = wasCut ? new TextDecoder().decode(kept, { stream: true }) : decoder.decode(kept);
    return text.replaceAll('\0', '');
  }
}
