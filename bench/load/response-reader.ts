const END_OF_HEAD = '\r\n\r\n';
const STATUS_AT = 'HTTP/1.1 '.length;
const STATUS_DIGITS = 3;

/** Reads the responses of one connection. It parses only their status and length, so that a load generator does little itself. */
export class ResponseReader {
  #status = 0;
  /** Bytes of the body that have not arrived. */
  #missing = 0;
  /** What has arrived of a head. */
  #head: Buffer | null = null;

  /** The status of the response that this chunk completes; null before its end. */
  read(chunk: Buffer): number | null {
    if (this.#missing > 0) this.#missing -= chunk.length;
    else {
      const bytes = this.#head === null ? chunk : Buffer.concat([this.#head, chunk]);
      const end = bytes.indexOf(END_OF_HEAD);
      this.#head = end === -1 ? Buffer.from(bytes) : null;
      if (end === -1) return null;
      const head = bytes.toString('latin1', 0, end);
      this.#status = Number(head.slice(STATUS_AT, STATUS_AT + STATUS_DIGITS));
      const size = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
      this.#missing = end + END_OF_HEAD.length + size - bytes.length;
    }
    return this.#missing > 0 ? null : this.#status;
  }
}
