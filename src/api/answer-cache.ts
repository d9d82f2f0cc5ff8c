import { etagOf, respondTagged, type Tagged } from './answers.ts';
import { searchOf } from './search.ts';

/** Enough for every view that is looked at over and over; a body is a few kilobytes. */
const MAX_ENTRIES = 20_000;
const MAX_BYTES = 64 * 1024 * 1024;

type Entry = Tagged & { readonly revision: number; readonly body: Uint8Array<ArrayBuffer> };
type Counter = { inc: () => void };

/**
 * Answers that depend on nothing but an entity's webhooks and the query. Each is dated with the revision that it was
 * read at; every write to those webhooks raises the revision, and the lookup that authentication makes anyway brings
 * the present one. So an answer is never stale, on any instance, and nothing has to be invalidated.
 */
export class AnswerCache {
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(
    private readonly hits: Counter,
    private readonly misses: Counter,
  ) {}

  find(entityId: string, revision: number, request: Request): Response | null {
    const entry = this.#entries.get(keyOf(entityId, request));
    if (entry === undefined || entry.revision !== revision) {
      this.misses.inc();
      return null;
    }
    this.hits.inc();
    return respondTagged(request, entry);
  }

  /** Keeps the answer and gives it. */
  keep(entityId: string, revision: number, request: Request, value: unknown): Response {
    const text = JSON.stringify(value);
    const entry = { revision, etag: etagOf(text), body: Buffer.from(text) };
    const key = keyOf(entityId, request);
    this.#forget(key);
    this.#entries.set(key, entry);
    this.#bytes += entry.body.byteLength;
    while (this.#entries.size > MAX_ENTRIES || this.#bytes > MAX_BYTES) this.#forgetOldest();
    return respondTagged(request, entry);
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
