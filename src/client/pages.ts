import type { z } from 'zod';
import type { feedEntrySchema, feedQuerySchema, feedSchema } from '../contract/endpoints/feed.ts';
import { type RemovedNumbers, RemovedNumbersError } from './errors.ts';
import type { Query } from './schema-types.ts';
import type { CallOptions } from './transport.ts';

/** The largest page that the service returns. */
const PAGE_SIZE = 100;

type Paged = { page?: number | undefined; limit?: number | undefined };
type List<Name extends string, Item> = { readonly totalResults: number } & { readonly [Key in Name]: readonly Item[] };

/**
 * Every item from the given page on, or from the first. Items that are added while the walk runs push others onto the
 * next page, so an item that the last page has shown is not yielded again.
 */
export async function* allPages<
  Name extends string,
  Id extends string,
  Item extends { [Key in Id]: string },
  Filter extends Paged,
>(
  readPage: (query: Filter, options: CallOptions) => Promise<List<Name, Item>>,
  name: Name,
  id: Id,
  query: Filter,
  options: CallOptions = {},
): AsyncGenerator<Item, void, undefined> {
  const limit = query.limit ?? PAGE_SIZE;
  let shown = new Set<string>();
  for (let page = query.page ?? 1; ; page++) {
    const { totalResults, [name]: items } = await readPage({ ...query, page, limit }, options);
    for (const item of items) if (!shown.has(item[id])) yield item;
    if (items.length === 0 || page * limit >= totalResults) return;
    shown = new Set(items.map((item) => item[id]));
  }
}

export type Feed = z.output<typeof feedSchema>;
export type FeedEntry = z.output<typeof feedEntrySchema>;
export type FeedQuery = Query<typeof feedQuerySchema>;

export type FeedOptions = {
  /** The last number that you have; 0 by default, which begins at the lowest number of the feed. */
  readonly after?: number;
  /**
   * Ends after this number, or when the feed is beyond it. Without it, the iteration waits for the next number for
   * ever.
   */
  readonly until?: number;
  /** Called for numbers that retention has deleted before they were read. Without it, they are a RemovedNumbersError. */
  readonly onRemoved?: (removed: RemovedNumbers) => void;
};

const WAIT_S = 20;
/** For the response itself, after the wait. */
const RESPONSE_MS = 30_000;

export type ReadFeed = (query: FeedQuery, options: CallOptions) => Promise<Feed>;

/** Every number in its order. An error leaves nothing out: begin again after the last entry that you have. */
export async function* followFeed(
  read: ReadFeed,
  { after: start = 0, until = Number.POSITIVE_INFINITY, onRemoved }: FeedOptions,
  options: CallOptions = {},
): AsyncGenerator<FeedEntry, void, undefined> {
  const timeoutMs = WAIT_S * 1_000 + (options.timeoutMs ?? RESPONSE_MS);
  for (let after = start; after < until; ) {
    const { firstSequence, lastSequence, deliveries } = await read({ after, wait: WAIT_S }, { ...options, timeoutMs });
    if (firstSequence > after + 1 && lastSequence > after) {
      const removed = { first: after + 1, last: firstSequence - 1 };
      if (onRemoved !== undefined) onRemoved(removed);
      else if (after > 0) throw new RemovedNumbersError(removed);
      after = removed.last;
    }
    for (const entry of deliveries) {
      if (entry.sequence > until) return;
      after = entry.sequence;
      yield entry;
    }
  }
}
