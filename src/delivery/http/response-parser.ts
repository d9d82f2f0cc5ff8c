import { BoundedMap } from '../../bounded-map.ts';
import { AttemptFailure, badResponse } from './errors.ts';
import { type BodyReader, ChunkedBody, PlainBody, StoredBody } from './response-body.ts';

/** What is kept of a response. */
export type HttpResponse = {
  readonly status: number;
  readonly retryAfter: string | null;
  /** The beginning of the body, as text that every database accepts. */
  readonly body: string;
};

/** Of all heads together, since any number of informational responses may come before the final one. */
const HEADS_MAX_BYTES = 16 * 1024;
/** The response ends here at the latest: more than any honest receiver sends, and short bodies keep the connection. */
const BODY_MAX_BYTES = 16 * 1024;

const OPENING = 'HTTP/1.';
const NOTHING = Buffer.alloc(0);

/**
 * Parses one HTTP/1.1 response from its bytes as they arrive.
 *
 * Anything malformed throws, even after a 2xx status, which may come from a proxy whose receiver has died. A request that
 * is sent twice is recognised by its id, but one that is wrongly reported as received is lost.
 */
export class ResponseParser {
  readonly #stored = new StoredBody();
  #headBytes = 0;
  #unfinishedHead: Buffer = NOTHING;
  #head: Head | null = null;
  #body: BodyReader | null = null;
  #isReusable = false;

  /** Whether any byte has arrived. */
  get hasBegun(): boolean {
    return this.#headBytes > 0 || this.#unfinishedHead.length > 0;
  }

  /** Whether the connection can serve another request after this response. */
  get isReusable(): boolean {
    return this.#isReusable;
  }

  /** The response, once it is complete or exceeds what is read of it. */
  read(bytes: Buffer): HttpResponse | null {
    const rest = this.#head === null ? this.#readHeads(bytes) : bytes;
    if (rest === null || this.#head === null || this.#body === null) return null;
    const behind = this.#body.read(rest);
    if (behind === null && this.#stored.bytes < BODY_MAX_BYTES) {
      this.#stored.copy();
      return null;
    }
    this.#isReusable = this.#head.keepsAlive && behind !== null && behind.length === 0;
    return this.#response(this.#head);
  }

  /** The receiver has closed the connection, which ends a response that has no length. */
  end(): HttpResponse {
    if (this.#head?.body !== 'until close') throw new AttemptFailure('reset', 'ECONNRESET');
    return this.#response(this.#head);
  }

  /** The bytes after the head, once that is complete. */
  #readHeads(bytes: Buffer): Buffer | null {
    let rest = this.#unfinishedHead.length === 0 ? bytes : Buffer.concat([this.#unfinishedHead, bytes]);
    this.#unfinishedHead = NOTHING;
    for (;;) {
      requireOpening(rest);
      const end = endOfHead(rest);
      if (this.#headBytes + (end?.next ?? rest.length) > HEADS_MAX_BYTES) throw badResponse('head too large');
      if (end === null) {
        this.#unfinishedHead = Buffer.from(rest);
        return null;
      }
      this.#headBytes += end.next;
      const head = readHead(rest.toString('latin1', 0, end.at));
      rest = rest.subarray(end.next);
      if (head.status < 200) continue;
      this.#head = head;
      this.#body = head.body === 'chunked' ? new ChunkedBody(this.#stored) : new PlainBody(this.#stored, head.body);
      return rest;
    }
  }

  #response({ status, retryAfter }: Head): HttpResponse {
    return { status, retryAfter, body: this.#stored.text() };
  }
}

/** Checked with the first bytes, so that a peer that speaks another protocol does not take the time until the deadline. */
function requireOpening(bytes: Buffer): void {
  if (!OPENING.startsWith(bytes.toString('latin1', 0, OPENING.length))) throw badResponse('not HTTP/1');
}

/** Where the head ends and where the bytes after it begin. Lines should end in CR LF, but some receivers send only LF. */
function endOfHead(bytes: Buffer): { at: number; next: number } | null {
  const proper = bytes.indexOf('\r\n\r\n');
  if (proper !== -1) return { at: proper, next: proper + 4 };
  const bare = bytes.indexOf('\n\n');
  return bare === -1 ? null : { at: bare, next: bare + 2 };
}

/** How the body ends: after this many bytes, with its last chunk, or when the receiver closes the connection. */
type BodyEnd = number | 'chunked' | 'until close';

type Head = {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly keepsAlive: boolean;
  readonly body: BodyEnd;
};

/** A receiver sends the same head again and again, except for the date, which changes once a second. */
const knownHeads = new BoundedMap<string, Head>(256);
const MAX_KNOWN_LENGTH = 1_024;

function readHead(text: string): Head {
  const known = knownHeads.get(text);
  if (known !== undefined) return known;
  const head = parseHead(text);
  if (text.length <= MAX_KNOWN_LENGTH) knownHeads.set(text, head);
  return head;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9][0-9]{2})(?: .*)?$/;

function parseHead(text: string): Head {
  const [statusLine = '', ...lines] = text.split(/\r?\n/);
  const [, minor, digits] = STATUS_LINE.exec(statusLine) ?? [];
  if (digits === undefined || text.includes('\0')) throw badResponse('malformed head');
  const status = Number(digits);
  if (status === 101) throw badResponse('unrequested upgrade');
  const fields = readFields(lines);
  const body = bodyEnd(status, fields);
  const keepsAlive = minor === '1' && body !== 'until close' && !/\bclose\b/i.test(fields.connection ?? '');
  return { status, retryAfter: fields['retry-after'] ?? null, keepsAlive, body };
}

const FIELDS = ['content-length', 'transfer-encoding', 'connection', 'retry-after'] as const;
type Fields = { -readonly [Name in (typeof FIELDS)[number]]?: string };

function readFields(lines: readonly string[]): Fields {
  const fields: Fields = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon < 1 || line.startsWith(' ') || line.startsWith('\t')) throw badResponse('malformed header');
    const name = FIELDS.find((field) => field.length === colon && field === line.slice(0, colon).toLowerCase());
    if (name === undefined) continue;
    const value = line.slice(colon + 1).trim();
    const before = fields[name];
    if (name === 'content-length' && before !== undefined && before !== value) throw badResponse('two lengths');
    fields[name] = name === 'transfer-encoding' && before !== undefined ? `${before}, ${value}` : value;
  }
  return fields;
}

const LENGTH = /^[0-9]{1,15}$/;

function bodyEnd(status: number, fields: Fields): BodyEnd {
  const encoding = fields['transfer-encoding'];
  const length = fields['content-length'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked') throw badResponse('unknown transfer encoding');
  if (length !== undefined && !LENGTH.test(length)) throw badResponse('malformed length');
  if (status < 200 || status === 204 || status === 304) return 0;
  if (encoding !== undefined) return 'chunked';
  return length === undefined ? 'until close' : Number(length);
}
