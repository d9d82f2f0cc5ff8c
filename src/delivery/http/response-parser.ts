import { BoundedMap } from '../../bounded-map.ts';
import { storedHeaders } from '../../domain/endpoints/shown-headers.ts';
import { AttemptFailure, badResponse } from './errors.ts';
import { BODY_MAX_BYTES, type BodyReader, ChunkedBody, FIELD_LINE, PlainBody, StoredBody } from './response-body.ts';

/** The stored parts of a response. */
export type HttpResponse = {
  readonly status: number;
  readonly retryAfter: string | null;
  /** Headers as they are stored, unless the response is a success. */
  readonly headers?: string;
  /** The beginning of the body, as text that every database accepts. */
  readonly body: string;
};

/** Limit for all heads together, since any number of informational responses may come before the final one. */
const HEADS_MAX_BYTES = 16 * 1024;

const OPENING = 'HTTP/1.';
const END_OF_HEAD = '\r\n\r\n';
const NOTHING = Buffer.alloc(0);

/**
 * Parses one HTTP/1.1 response from its bytes as they arrive. The split of the bytes makes no difference. Rejects
 * everything that llhttp rejects: `response-conformance.test.ts` compares the two parsers.
 *
 * Anything malformed throws, even after a 2xx status, which may come from a proxy whose receiver has died. A receiver
 * recognises a repeated request by its id, but an event that is wrongly reported as received is lost.
 */
export class ResponseParser {
  readonly #stored = new StoredBody();
  #headBytes = 0;
  #unfinishedHead: Buffer = NOTHING;
  #head: Head | null = null;
  #body: BodyReader | null = null;
  #isReusable = false;
  #hasSurplus = false;

  /** Whether any byte has arrived. */
  get hasBegun(): boolean {
    return this.#headBytes > 0 || this.#unfinishedHead.length > 0;
  }

  /** Whether the connection can serve another request after this response. */
  get isReusable(): boolean {
    return this.#isReusable;
  }

  /** Whether bytes came after the end of the response. */
  get hasSurplus(): boolean {
    return this.#hasSurplus;
  }

  /** Returns the response once it is complete, or longer than the part that Paybell reads. Null before. */
  read(bytes: Buffer): HttpResponse | null {
    const rest = this.#head === null ? this.#readHeads(bytes) : bytes;
    if (rest === null || this.#head === null || this.#body === null) return null;
    const behind = this.#body.read(rest);
    if (behind === null && !this.#stored.isFull) {
      this.#stored.copy();
      return null;
    }
    this.#hasSurplus = behind !== null && behind.length > 0;
    // The connection is not reused after a body that is too long to be read completely, even if all of it came at once.
    const isRead = behind?.length === 0 && this.#stored.bytes <= BODY_MAX_BYTES;
    this.#isReusable = isRead && this.#head.keepsAlive;
    return this.#response(this.#head);
  }

  /** The receiver has closed the connection, which ends a response that has no length. */
  end(): HttpResponse {
    if (this.#head?.body !== 'until close') throw new AttemptFailure('reset', 'ECONNRESET');
    return this.#response(this.#head);
  }

  /** The bytes after the head; null until the head is complete. */
  #readHeads(bytes: Buffer): Buffer | null {
    let rest = this.#unfinishedHead.length === 0 ? bytes : Buffer.concat([this.#unfinishedHead, bytes]);
    this.#unfinishedHead = NOTHING;
    for (;;) {
      requireOpening(rest);
      const room = HEADS_MAX_BYTES - this.#headBytes;
      const end = rest.indexOf(END_OF_HEAD);
      const next = end + END_OF_HEAD.length;
      if (end === -1 || next > room) {
        if (hasBareLineFeed(rest.subarray(0, room))) throw badResponse('malformed head');
        if (rest.length > room) throw badResponse('head too large');
        this.#unfinishedHead = Buffer.from(rest);
        return null;
      }
      this.#headBytes += next;
      const head = readHead(rest.toString('latin1', 0, end));
      rest = rest.subarray(next);
      if (head.status < 200) continue;
      this.#head = head;
      this.#body = head.body === 'chunked' ? new ChunkedBody(this.#stored) : new PlainBody(this.#stored, head.body);
      return rest;
    }
  }

  #response({ status, retryAfter, headers }: Head): HttpResponse {
    const response = { status, retryAfter, body: this.#stored.text() };
    return headers === null ? response : { ...response, headers };
  }
}

/** Checks the first bytes, so that a peer with another protocol fails at once, and not at the deadline. */
function requireOpening(bytes: Buffer): void {
  if (!OPENING.startsWith(bytes.toString('latin1', 0, OPENING.length))) throw badResponse('not HTTP/1');
}

/** Checked before the head is complete, because the expected end may never come in a head with bare line feeds. */
function hasBareLineFeed(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) {
    if (bytes[at - 1] !== 0x0d) return true;
  }
  return false;
}

/** How the body ends: after this many bytes, with its last chunk, or when the receiver closes the connection. */
type BodyEnd = number | 'chunked' | 'until close';

type Head = {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly headers: string | null;
  /** Whether the connection may serve another request after this response. */
  readonly keepsAlive: boolean;
  readonly body: BodyEnd;
};

/** A receiver sends the same head again and again, except for the date, which changes once a second. */
const knownHeads = new BoundedMap<string, Head>(256);
const MAX_KNOWN_LENGTH = 1_024;

/**
 * Reads a head without the empty line at its end. As strict as llhttp, because no two programs must read one head
 * differently.
 */
function readHead(text: string): Head {
  const known = knownHeads.get(text);
  if (known !== undefined) return known;
  const head = parseHead(text);
  if (text.length <= MAX_KNOWN_LENGTH) knownHeads.set(text, head);
  return head;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?$/;

const CLOSE = /\bclose\b/i;

function parseHead(text: string): Head {
  const [statusLine = '', ...lines] = text.split('\r\n');
  const [, minor, digits] = STATUS_LINE.exec(statusLine) ?? [];
  if (digits === undefined || !lines.every((line) => FIELD_LINE.test(line))) throw badResponse('malformed head');
  const status = Number(digits);
  if (status === 101) throw badResponse('unrequested upgrade');
  const fields = readFields(lines);
  const body = bodyEnd(fields);
  const closes = minor === '0' || CLOSE.test(fields.connection ?? '') || CLOSE.test(fields['proxy-connection'] ?? '');
  const retryAfter = fields['retry-after']?.trim() ?? null;
  // A success stores no headers, to save time and space.
  const headers = status < 300 ? null : storedHeaders(lines);
  const kept = { status, retryAfter, headers };
  if (!isBodiless(status)) return { ...kept, keepsAlive: !closes && body !== 'until close', body };

  // The status excludes a body. A receiver that announces a body may still send it, and its bytes would come before the
  // next response.
  const announcesBody = body !== 'until close' && body !== 0;
  if (status < 200 && (announcesBody || closes)) throw badResponse('malformed informational response');
  return { ...kept, keepsAlive: !closes && !announcesBody, body: 0 };
}

function isBodiless(status: number): boolean {
  return status < 200 || status === 204 || status === 304;
}

const FIELDS = ['content-length', 'transfer-encoding', 'connection', 'proxy-connection', 'retry-after'] as const;
type Fields = { -readonly [Name in (typeof FIELDS)[number]]?: string };

/**
 * The values with the white space around them. Values of a repeated field are joined as a list, except for Retry-After.
 */
function readFields(lines: readonly string[]): Fields {
  const fields: Fields = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = FIELDS.find((field) => field.length === colon && field === line.slice(0, colon).toLowerCase());
    if (name === undefined) continue;
    const value = line.slice(colon + 1);
    const before = fields[name];
    fields[name] = before === undefined || name === 'retry-after' ? value : `${before},${value}`;
  }
  return fields;
}

/**
 * Stricter than `trim`, which removes a no-break space too. Like llhttp, it allows spaces after `chunked`, but no tab.
 */
const CHUNKED = /^[\t ]*chunked *$/i;
const LENGTH = /^[\t ]*([0-9]{1,15})[\t ]*$/;

function bodyEnd({ 'transfer-encoding': encoding, 'content-length': length }: Fields): BodyEnd {
  if (encoding !== undefined) {
    if (length !== undefined) throw badResponse('length and transfer encoding');
    if (!CHUNKED.test(encoding)) throw badResponse('unknown transfer encoding');
    return 'chunked';
  }
  if (length === undefined) return 'until close';
  const digits = LENGTH.exec(length)?.[1];
  // Rejects a list of lengths too, even if they are equal.
  if (digits === undefined) throw badResponse('malformed length');
  return Number(digits);
}
