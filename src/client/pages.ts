import type { CallOptions } from './transport.ts';

/** The largest page that a list gives. */
const PAGE_SIZE = 100;

type Paged = { page?: number | undefined; limit?: number | undefined };
type Page<Item> = { readonly totalResults: number; readonly items: readonly Item[] };

/**
 * Walks all pages from the one asked for, or the first. Each page is of one moment and the walk is not: what is added in
 * front meanwhile moves items on to the next page, so one that the page before has shown is not shown again.
 */
export async function* allPages<Item, Query extends Paged>(
  read: (query: Query, options: CallOptions) => Promise<Page<Item>>,
  idOf: (item: Item) => string,
  query: Query,
  options: CallOptions = {},
): AsyncGenerator<Item, void, undefined> {
  const limit = query.limit ?? PAGE_SIZE;
  let shown = new Set<string>();
  for (let page = query.page ?? 1; ; page++) {
    const { totalResults, items } = await read({ ...query, page, limit }, options);
    for (const item of items) if (!shown.has(idOf(item))) yield item;
    if (items.length === 0 || page * limit >= totalResults) return;
    shown = new Set(items.map(idOf));
  }
}
