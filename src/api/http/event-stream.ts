import { Problem } from '../../contract/problems.ts';
import { hashApiKey, isOperator, type Permission } from '../../domain/keys/api-keys.ts';
import type { Logger } from '../../log.ts';
import type { KeyHolder } from '../../store/tenants/key-lookup.ts';
import { NO_SNIFF } from './responses.ts';

/** Server-sent events, as https://html.spec.whatwg.org/multipage/server-sent-events.html defines them. */
export type ServerSentEvent = {
  /** A client that connects again sends this as `last-event-id`. */
  readonly id?: string;
  /** The type of the event; browsers use `message` if it is absent. */
  readonly event?: string;
  readonly data: string;
};

/**
 * A source of events. It ends when the signal aborts: the client is gone, its key was revoked, or the service stops.
 */
export type EventSource = (signal: AbortSignal) => AsyncGenerator<ServerSentEvent, void, undefined>;

/** The reader of a stream. */
export type StreamReader = {
  readonly entityId: string;
  /** Null for an operator, whose key is a setting and cannot be revoked. */
  readonly keyHash: string | null;
  /** Expiry of an operator's key. */
  readonly expiresAtMs: number | null;
  readonly permission: Permission;
};

export function readerOf(
  request: Request,
  { keyId, entityId, expiresAtMs = null }: { keyId: string; entityId: string; expiresAtMs?: number | null },
  permission: Permission,
): StreamReader {
  const keyHash = isOperator(keyId) ? null : hashApiKey(request.headers.get('api-key') ?? '');
  return { entityId, keyHash, expiresAtMs, permission };
}

export type StreamOptions = {
  readonly request: Request;
  readonly reader: StreamReader;
  /** How many streams of this kind an entity may have open in this process. */
  readonly limit: { readonly what: string; readonly max: number };
  /** Exempts this connection from the server's limit on idle connections. */
  readonly keepOpen: () => void;
  readonly source: EventSource;
};

/** Proxies close a connection on which nothing was sent for a minute, some of them for 30 s. */
const COMMENT_EVERY_MS = 15_000;
/** Often enough to end the stream of a revoked key within five seconds. */
const CHECK_KEYS_EVERY_MS = 2_000;
const RETRY_AFTER_S = 1;

const COMMENT = ':\n\n';
/**
 * Sent at once, because the headers leave with the first bytes. Tells the client how long to wait before it connects
 * again.
 */
const GREETING = 'retry: 1000\n\n';

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  // nginx would otherwise collect the events before it passes them on.
  'x-accel-buffering': 'no',
  ...NO_SNIFF,
};

/** Every stream of server-sent events that this process has open. */
export class EventStreams {
  readonly #open = new Set<EventStream>();
  #isClosed = false;
  #keyCheck: ReturnType<typeof setInterval> | null = null;

  constructor(
    private readonly findKey: (keyHash: string) => Promise<KeyHolder | null>,
    private readonly log: Logger,
    private readonly timing = { commentMs: COMMENT_EVERY_MS, keyCheckMs: CHECK_KEYS_EVERY_MS },
  ) {}

  get size(): number {
    return this.#open.size;
  }

  /** A response whose body is the stream. */
  open({ request, reader, limit, keepOpen, source }: StreamOptions): Response {
    if (this.#isClosed) throw new Problem('unavailable', 'This instance is stopping. Connect again.', RETRY_LATER);
    if (this.#count(reader.entityId, limit.what) >= limit.max) throw tooMany(limit);
    if (request.method === 'HEAD') return new Response(null, { headers: HEADERS });
    keepOpen();
    const stream = new EventStream(reader, limit.what, source, this.timing.commentMs, (ended, error) => {
      this.#open.delete(ended);
      if (this.#open.size === 0) this.#stopKeyCheck();
      // The client connects again and continues from its position.
      if (error !== null)
        this.log.warn({ err: error, entityId: reader.entityId }, `${limit.what}: a stream ended early`);
    });
    this.#open.add(stream);
    this.#keyCheck ??= setInterval(() => void this.checkKeys(), this.timing.keyCheckMs);
    return new Response(stream.body, { headers: HEADERS });
  }

  /** Ends every stream at once and opens no more. Called before requests are drained, which would wait for them. */
  close(): void {
    this.#isClosed = true;
    for (const stream of [...this.#open]) stream.end();
  }

  /** Ends the streams whose key was revoked, has expired, or lost its permission. Keys are looked up in one query. */
  async checkKeys(): Promise<void> {
    try {
      await Promise.all([...this.#open].map((stream) => this.#checkKey(stream)));
    } catch (error) {
      // The next check decides. Without the database, the stream sends no events either.
      this.log.warn({ err: error }, 'the keys of open streams could not be checked');
    }
  }

  async #checkKey(stream: EventStream): Promise<void> {
    const { keyHash, expiresAtMs, entityId, permission } = stream.reader;
    if (expiresAtMs !== null && expiresAtMs <= Date.now()) return stream.end();
    if (keyHash === null) return;
    const holder = await this.findKey(keyHash);
    if (holder?.entityId !== entityId || !holder.permissions.has(permission)) stream.end();
  }

  #count(entityId: string, what: string): number {
    let count = 0;
    for (const stream of this.#open) if (stream.what === what && stream.reader.entityId === entityId) count++;
    return count;
  }

  #stopKeyCheck(): void {
    if (this.#keyCheck !== null) clearInterval(this.#keyCheck);
    this.#keyCheck = null;
  }
}

const RETRY_LATER = { headers: { 'retry-after': String(RETRY_AFTER_S) } };

function tooMany({ what, max }: StreamOptions['limit']): Problem {
  const detail = `At most ${max} ${what} of an entity can be open at a time. Close one first.`;
  return new Problem('rate_limited', detail, RETRY_LATER);
}

/**
 * One stream. It asks for the next event only after the client has taken the last one, so a slow client costs the
 * memory of one event. While there is no event, comments keep the connection open.
 */
class EventStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #abort = new AbortController();
  readonly #events: AsyncGenerator<ServerSentEvent, void, undefined>;
  #isAsking = false;
  /** The next part for the client, if it is ready. */
  #next: string | null = GREETING;
  #isOver = false;
  #isCancelled = false;
  #deliver: (() => void) | null = null;

  constructor(
    readonly reader: StreamReader,
    readonly what: string,
    source: EventSource,
    private readonly commentMs: number,
    private readonly onEnd: (stream: EventStream, error: unknown) => void,
  ) {
    this.#events = source(this.#abort.signal);
    this.body = new ReadableStream(
      { pull: (controller) => this.#pull(controller), cancel: () => this.#cancel() },
      { highWaterMark: 0 },
    );
  }

  end(error: unknown = null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#abort.abort();
    // Lets a waiting source clean up.
    void this.#events.return().catch(() => undefined);
    this.onEnd(this, error);
    this.#deliver?.();
  }

  /** The client is gone, and the body is closed already. */
  #cancel(): void {
    this.#isCancelled = true;
    this.end();
  }

  #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => send(COMMENT), this.commentMs);
    const send = (text: string | null) => {
      clearTimeout(timer);
      this.#deliver = null;
      if (text === null) {
        if (!this.#isCancelled) controller.close();
      } else controller.enqueue(encoder.encode(text));
      resolve();
    };
    this.#deliver = () => {
      if (this.#isOver) return send(null);
      const text = this.#next;
      if (text === null) return;
      this.#next = null;
      send(text);
    };
    this.#deliver();
    if (this.#deliver !== null) void this.#ask();
    return promise;
  }

  /** Asks for one event at a time, even if comments are sent in between. */
  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      const { value, done } = await this.#events.next();
      if (done === true) return this.end();
      this.#next = writeEvent(value);
      this.#deliver?.();
    } catch (error) {
      this.end(error);
    } finally {
      this.#isAsking = false;
    }
  }
}

const encoder = new TextEncoder();

function writeEvent({ id, event, data }: ServerSentEvent): string {
  const fields = [
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...data.split(/\r\n|\r|\n/).map((line) => `data: ${line}`),
  ];
  return `${fields.join('\n')}\n\n`;
}
