import type { DatedJson } from '../../store/webhooks/list-cache.ts';
import { searchOf } from './request-url.ts';
import { etagOf, respondTagged, type Tagged } from './responses.ts';

/** Enough for every list that is looked at over and over; a body is a few kilobytes. */
const MAX_ENTRIES = 20_000;
const MAX_BYTES = 32 * 1024 * 1024;

/** Well over MAX_ENTRIES, so that few share a place. */
const MARKS = 65_536;

type Entry = Tagged & { readonly revision: number; readonly body: Uint8Array<ArrayBuffer> };
type Counter = { inc: () => void };

/**
 * Answers that depend on nothing but an entity's webhooks and the query. Each is dated with the revision that it was
 * read at; every write to those webhooks raises the revision, and the lookup that authentication makes anyway brings
 * the present one. So an answer is never stale, on any instance, and nothing has to be invalidated.
 *
 * An answer is kept from the second time on that it is asked for: whoever walks through all pages once neither pays for
 * the keeping nor drives out what others ask for again and again.
 */
export class ResponseCache {
  readonly #entries = new Map<string, Entry>();
  /** The hashes of queries asked for lately, each in the one place that it can have. */
  readonly #marks = new Uint32Array(MARKS);
  #bytes = 0;

  constructor(private readonly hits: Counter) {}

  find(entityId: string, revision: number, request: Request): Response | null {
    const entry = this.#entries.get(keyOf(entityId, request));
    if (entry === undefined || entry.revision !== revision) return null;
    this.hits.inc();
    return respondTagged(request, entry);
  }

  /** Gives the answer, and keeps it if it was asked for before. */
  keep(entityId: string, { revision, json }: DatedJson, request: Request): Response {
    const etag = etagOf(json);
    const key = keyOf(entityId, request);
    if (!this.#wasAsked(key)) return respondTagged(request, { etag, body: json });
    const entry = { revision, etag, body: Buffer.from(json) };
    this.#forget(key);
    this.#entries.set(key, entry);
    this.#bytes += entry.body.byteLength;
    while (this.#entries.size > MAX_ENTRIES || this.#bytes > MAX_BYTES) this.#forgetOldest();
    return respondTagged(request, entry);
  }

  #wasAsked(key: string): boolean {
    const hash = Bun.hash.xxHash32(key);
    const place = hash % MARKS;
    if (this.#marks[place] === hash) return true;
    this.#marks[place] = hash;
    return false;
  }

  #forgetOldest(): void {
    for (const key of this.#entries.keys()) {
      this.#forget(key);
      return;
    }
  }

  #forget(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.body.byteLength;
  }
}

/** The query as it was sent: another spelling of the same one is another entry, and costs no parsing to find. */
function keyOf(entityId: string, request: Request): string {
  return `${entityId} ${searchOf(request.url)}`;
}
