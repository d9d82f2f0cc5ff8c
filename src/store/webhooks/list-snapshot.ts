import type { Webhook, WebhookListQuery } from '../../contract/webhooks.ts';
import type { Queries } from '../database/database.ts';
import { SEQUENCED_WEBHOOK } from './list.ts';

/** All filters but the id, because the database finds a single webhook faster. */
type SnapshotQuery = Omit<WebhookListQuery, 'webhookId'>;

/** A single such character makes JavaScript store the whole text with two bytes for each character. */
const WIDE = /[^\0-\xff]/;

type Parts = {
  readonly revision: number;
  /** The JSON of all webhooks, concatenated in order of creation. */
  readonly text: string;
  /** The position of each webhook in the text, and where the last one ends. */
  readonly starts: Uint32Array;
  readonly networkIds: Float64Array;
  readonly eventIndexes: Uint16Array;
  readonly events: readonly string[];
  /** In order of URL, the index of each webhook in order of creation. */
  readonly byUrl: Uint16Array;
};

/**
 * All webhooks of one entity at one revision: their JSON in one text, and only the values that the filters and the sort
 * orders need. A snapshot is a handful of objects, however many webhooks it holds.
 */
export class WebhookListSnapshot {
  readonly revision: number;
  /** Approximate size in memory. */
  readonly bytes: number;
  readonly #count: number;

  private constructor(private readonly parts: Parts) {
    const { text, byUrl, revision } = parts;
    this.revision = revision;
    this.#count = byUrl.length;
    this.bytes = text.length * (WIDE.test(text) ? 2 : 1) + this.#count * 16 + 500;
  }

  static async read(queries: Queries, entityId: string, revision: number): Promise<WebhookListSnapshot> {
    // The database sorts by URL, because its collation is not JavaScript's order of strings.
    const rows = await SEQUENCED_WEBHOOK.all(
      queries,
      `select ${SEQUENCED_WEBHOOK.list} from webhooks where entity_id = $1 order by post_url, id`,
      [entityId],
    );
    const sorted = rows.map((row, inUrlOrder) => ({ row, inUrlOrder, sequence: row.createdSeq }));
    sorted.sort((a, b) => a.sequence - b.sequence);
    const byUrl = new Uint16Array(rows.length);
    const starts = new Uint32Array(rows.length + 1);
    const events = new Map<string, number>();
    const texts: string[] = [];
    let end = 0;
    for (const [created, { row, inUrlOrder }] of sorted.entries()) {
      if (!events.has(row.event)) events.set(row.event, events.size);
      // JSON leaves out what is undefined. A copy of each row without the sequence would take a tenth of the whole read.
      const shown: Webhook & { createdSeq?: number | undefined } = row;
      shown.createdSeq = undefined;
      const text = JSON.stringify(shown);
      texts.push(text);
      end += text.length;
      starts[created + 1] = end;
      byUrl[inUrlOrder] = created;
    }
    return new WebhookListSnapshot({
      revision,
      text: texts.join(''),
      starts,
      networkIds: Float64Array.from(sorted, ({ row }) => row.networkId),
      eventIndexes: Uint16Array.from(sorted, ({ row }) => events.get(row.event) ?? 0),
      events: [...events.keys()],
      byUrl,
    });
  }

  /** The same JSON, byte for byte, as a list read from the store. */
  list(query: SnapshotQuery): string {
    const filtered = query.networkId !== undefined || query.event !== undefined;
    const { total, found } = filtered ? this.#filter(query) : this.#slice(query);
    const { text, starts } = this.parts;
    const webhooks = found.map((index) => text.slice(starts[index], starts[index + 1]));
    return `{"totalResults":${total},"webhooks":[${webhooks.join(',')}]}`;
  }

  #slice({ page, limit, sortBy, sortDir }: SnapshotQuery): { total: number; found: number[] } {
    const first = (page - 1) * limit;
    const found: number[] = [];
    for (let at = first; at < this.#count && at < first + limit; at++) found.push(this.#indexAt(at, sortBy, sortDir));
    return { total: this.#count, found };
  }

  #filter({ networkId, event, page, limit, sortBy, sortDir }: SnapshotQuery): { total: number; found: number[] } {
    const { networkIds, eventIndexes, events } = this.parts;
    const wanted = event === undefined ? null : events.indexOf(event);
    const first = (page - 1) * limit;
    const found: number[] = [];
    let total = 0;
    for (let at = 0; at < this.#count; at++) {
      const index = this.#indexAt(at, sortBy, sortDir);
      if (networkId !== undefined && networkIds[index] !== networkId) continue;
      if (wanted !== null && eventIndexes[index] !== wanted) continue;
      if (total >= first && found.length < limit) found.push(index);
      total++;
    }
    return { total, found };
  }

  #indexAt(position: number, sortBy: SnapshotQuery['sortBy'], sortDir: SnapshotQuery['sortDir']): number {
    const ascending = sortDir === 'asc' ? position : this.#count - 1 - position;
    return sortBy === 'postUrl' ? (this.parts.byUrl[ascending] ?? 0) : ascending;
  }
}
