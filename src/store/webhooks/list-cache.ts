import type { WebhookListQuery } from '../../contract/webhooks.ts';
import type { Database } from '../database/database.ts';
import { countDated, readWebhookList } from './list.ts';
import { WebhookListSnapshot } from './list-snapshot.ts';

/** More are read page by page: so many take about a millisecond to read, and nobody should wait longer for a neighbour. */
const MAX_WEBHOOKS = 1_000;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_ASKED = 20_000;

/**
 * When there is no more room, only one in so many moves in. If the entities that are asked about are more than there is
 * room for, most of the views stay and are of use; were all let in, each would be gone before it is asked for again.
 */
const TURNOVER = 16;

type Counter = { inc: () => void };

/** A list as JSON, and the revision of the entity that it is of. */
export type DatedJson = { readonly revision: number; readonly json: string };

/**
 * Lists of webhooks, from memory where possible. An entity that was asked about before at the same revision is read
 * whole, and from then on every filter, order and page of it is answered without the store until it changes: the
 * revision, which authentication brings with every request, tells.
 */
export class WebhookListCache {
  readonly #views = new Map<string, WebhookListSnapshot>();
  /** At which revision an entity was last asked about, and whether it turned out too large to be kept. */
  readonly #asked = new Map<string, { readonly revision: number; readonly tooLarge: boolean }>();
  #bytes = 0;
  #full = false;

  constructor(
    private readonly db: Database,
    private readonly counted: { readonly fromView: Counter; readonly fromStore: Counter },
    private readonly maxBytes = MAX_BYTES,
  ) {}

  async list(entityId: string, revision: number, query: WebhookListQuery): Promise<DatedJson> {
    const view = query.webhookId === undefined ? await this.#viewOf(entityId, revision) : null;
    if (view !== null) {
      this.counted.fromView.inc();
      return { revision: view.revision, json: view.list(query) };
    }
    this.counted.fromStore.inc();
    const read = await readWebhookList(this.db, entityId, query);
    return { revision: read.revision, json: JSON.stringify(read.list) };
  }

  #viewOf(entityId: string, revision: number): WebhookListSnapshot | null | Promise<WebhookListSnapshot | null> {
    const known = this.#views.get(entityId);
    // One that is newer than the request saw is as good: it was read after the request came.
    if (known !== undefined && known.revision >= revision) return known;
    if (known !== undefined) {
      this.#forget(entityId, known);
      this.#full = false;
    }
    const asked = this.#asked.get(entityId);
    if (asked?.revision !== revision) {
      this.#note(entityId, revision, false);
      return null;
    }
    if (asked.tooLarge || (this.#full && Math.random() * TURNOVER >= 1)) return null;
    return this.#read(entityId, revision);
  }

  async #read(entityId: string, askedAt: number): Promise<WebhookListSnapshot | null> {
    const view = await this.db.snapshot(async (queries) => {
      const { total, revision } = await countDated(queries, entityId, {});
      return total > MAX_WEBHOOKS ? null : WebhookListSnapshot.read(queries, entityId, revision);
    });
    if (view === null) this.#note(entityId, askedAt, true);
    else this.#keep(entityId, view);
    return view;
  }

  #note(entityId: string, revision: number, tooLarge: boolean): void {
    this.#asked.delete(entityId);
    this.#asked.set(entityId, { revision, tooLarge });
    if (this.#asked.size > MAX_ASKED) this.#asked.delete(oldest(this.#asked));
  }

  #keep(entityId: string, view: WebhookListSnapshot): void {
    const known = this.#views.get(entityId);
    if (known !== undefined) this.#forget(entityId, known);
    this.#views.set(entityId, view);
    this.#bytes += view.bytes;
    while (this.#bytes > this.maxBytes) {
      const first = oldest(this.#views);
      const evicted = this.#views.get(first);
      if (evicted === undefined) return;
      this.#forget(first, evicted);
      this.#full = true;
    }
  }

  #forget(entityId: string, view: WebhookListSnapshot): void {
    this.#views.delete(entityId);
    this.#bytes -= view.bytes;
  }
}

function oldest(map: ReadonlyMap<string, unknown>): string {
  for (const key of map.keys()) return key;
  return '';
}
