import { AttemptFailure, badResponse } from './errors.ts';
import { type BodyReader, ChunkedBody, Kept, PlainBody } from './response-body.ts';
import { type Head, readHead } from './response-head.ts';

/** What is kept of an answer: the rest of its head is of no interest to anybody. */
export type Answer = {
  readonly status: number;
  readonly retryAfter: string | null;
  /** Its beginning, as text that every database takes. */
  readonly body: string;
};

/** Of all heads together: any number of informational ones may come before that of the answer. */
const HEADS_MAX_BYTES = 16 * 1024;
/** Read no further than this: enough for any honest answer, and it lets the connection be used again. */
const BODY_MAX_BYTES = 16 * 1024;

const OPENING = 'HTTP/1.';
const NOTHING = Buffer.alloc(0);

/**
 * One answer of HTTP/1.1, from its bytes as they come.
 *
 * Whatever is not as it should be throws, also after a 2xx status: such a status may come from something in between that
 * died with the receiver behind it. A post sent twice is known by its id; one that is reported received and was not is
 * lost.
 */
export class ResponseParser {
  readonly #kept = new Kept();
  #headBytes = 0;
  #unfinishedHead: Buffer = NOTHING;
  #head: Head | null = null;
  #body: BodyReader | null = null;
  #isReusable = false;

  /** Whether anything came at all. */
  get hasBegun(): boolean {
    return this.#headBytes > 0 || this.#unfinishedHead.length > 0;
  }

  /** Of what is complete: whether another answer may follow on the same connection. */
  get isReusable(): boolean {
    return this.#isReusable;
  }

  /** The answer as soon as it is complete, or as much of it as is wanted has come. */
  read(bytes: Buffer): Answer | null {
    const rest = this.#head === null ? this.#readHeads(bytes) : bytes;
    if (rest === null || this.#head === null || this.#body === null) return null;
    const behind = this.#body.read(rest);
    if (behind === null && this.#kept.bytes < BODY_MAX_BYTES) {
      this.#kept.hold();
      return null;
    }
    this.#isReusable = this.#head.keepsAlive && behind !== null && behind.length === 0;
    return this.#answer(this.#head);
  }

  /** The connection has ended: for some answers that is their end. */
  end(): Answer {
    if (this.#head?.body !== 'until the end') throw new AttemptFailure('reset', 'ECONNRESET');
    return this.#answer(this.#head);
  }

  /** What stands behind the head, as soon as that is complete. */
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
      this.#body = head.body === 'in chunks' ? new ChunkedBody(this.#kept) : new PlainBody(this.#kept, head.body);
      return rest;
    }
  }

  #answer({ status, retryAfter }: Head): Answer {
    return { status, retryAfter, body: this.#kept.text() };
  }
}

/** At once, so that whoever speaks something else is not waited for until the deadline. */
function requireOpening(bytes: Buffer): void {
  if (!OPENING.startsWith(bytes.toString('latin1', 0, OPENING.length))) throw badResponse('not HTTP/1');
}

/** Where the head ends and what follows it begins. Lines should end with CR and LF; some receivers send LF alone. */
function endOfHead(bytes: Buffer): { at: number; next: number } | null {
  const proper = bytes.indexOf('\r\n\r\n');
  if (proper !== -1) return { at: proper, next: proper + 4 };
  const bare = bytes.indexOf('\n\n');
  return bare === -1 ? null : { at: bare, next: bare + 2 };
}
