import { badResponse } from './errors.ts';

const NOTHING = Buffer.alloc(0);

export interface BodyReader {
  /**
   * Returns the bytes after the body once the body is complete. Null before that, and once `BODY_MAX_BYTES` were read:
   * it reads no more.
   */
  read(bytes: Buffer): Buffer | null;
}

/** A body that ends after a number of bytes, or when the receiver closes the connection. */
export class PlainBody implements BodyReader {
  #left: number;

  constructor(
    private readonly stored: StoredBody,
    end: number | 'until close',
  ) {
    this.#left = end === 'until close' ? Number.POSITIVE_INFINITY : end;
  }

  read(bytes: Buffer): Buffer | null {
    const ours = bytes.length > this.#left ? bytes.subarray(0, this.#left) : bytes;
    this.stored.add(ours);
    this.#left -= ours.length;
    if (this.#left > 0) return null;
    return ours === bytes ? NOTHING : bytes.subarray(ours.length);
  }
}

/** A field of a head or of a trailer. A space in or after the name, a bare CR, a bare LF and a folded line do not match. */
export const FIELD_LINE = /^[\w!#$%&'*+.^`|~-]+:[\t\x20-\x7e\x80-\xff]*$/;
/** The size, and chunk extensions, which are ignored. */
const CHUNK_LINE =
  /^([0-9a-f]{1,12})(?:;[\w!#$%&'*+.^`|~-]+(?:=(?:[\w!#$%&'*+.^`|~-]+|"(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"))?)*$/i;
/** Fields that are allowed only in the head, because they define how the response ends. */
const FRAMING_FIELD = /^(?:content-length|transfer-encoding|connection):/i;
/** Limit on the line before a chunk, and on all trailers together. */
const CHUNK_LINES_MAX_BYTES = 4 * 1024;

export class ChunkedBody implements BodyReader {
  #line = '';
  #lineBytes = 0;
  #left = 0;
  #expects: 'size' | 'data' | 'end of data' | 'trailer' = 'size';

  constructor(private readonly stored: StoredBody) {}

  read(bytes: Buffer): Buffer | null {
    let rest = bytes;
    while (rest.length > 0) {
      if (this.#expects === 'data') {
        rest = this.#readData(rest);
        if (this.stored.isFull) return null;
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
    this.stored.add(data);
    this.#left -= data.length;
    if (this.#left === 0) this.#expects = 'end of data';
    return bytes.subarray(data.length);
  }

  #addToLine(text: string): void {
    this.#line += text;
    this.#lineBytes += text.length;
    if (this.#lineBytes > CHUNK_LINES_MAX_BYTES) throw badResponse('chunk line too long');
  }

  /** Returns whether that was the last line of the body. */
  #endLine(): boolean {
    if (!this.#line.endsWith('\r')) throw badResponse('malformed chunk');
    const line = this.#line.slice(0, -1);
    this.#line = '';
    if (this.#expects === 'trailer') {
      if (line === '') return true;
      if (!FIELD_LINE.test(line) || FRAMING_FIELD.test(line)) throw badResponse('malformed trailer');
      return false;
    }
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

/** Limit on the bytes that are read of a body, above any honest receiver's response. A longer body ends the connection. */
export const BODY_MAX_BYTES = 16 * 1024;
/** Enough for a person to see why a request was refused. */
const STORED_MAX_BYTES = 1024;

const decoder = new TextDecoder();

/** The beginning of a body, which is stored with the attempt. */
export class StoredBody {
  /** Size of the whole body so far. */
  bytes = 0;
  readonly #parts: Buffer[] = [];
  /** How many of `#parts` are copies, and not views of a larger buffer. */
  #copied = 0;

  /** Whether `BODY_MAX_BYTES` have arrived. */
  get isFull(): boolean {
    return this.bytes >= BODY_MAX_BYTES;
  }

  add(part: Buffer): void {
    const room = STORED_MAX_BYTES - this.bytes;
    this.bytes += part.length;
    if (room > 0 && part.length > 0) this.#parts.push(part.length > room ? part.subarray(0, room) : part);
  }

  /** Call this if more bytes will follow, because the runtime reuses the memory of its buffers for the next read. */
  copy(): void {
    for (let at = this.#copied; at < this.#parts.length; at++)
      this.#parts[at] = Buffer.from(this.#parts[at] ?? NOTHING);
    this.#copied = this.#parts.length;
  }

  /** PostgreSQL accepts neither invalid UTF-8 nor NUL, and one such response would fail a whole batch of records. */
  text(): string {
    const stored = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts);
    const wasCut = this.bytes > STORED_MAX_BYTES;
    // As a stream, so that a character split by the cut is left out instead of replaced.
    const text = wasCut ? new TextDecoder().decode(stored, { stream: true }) : decoder.decode(stored);
    return text.replaceAll('\0', '');
  }
}
