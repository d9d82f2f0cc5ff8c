import type { CallOptions } from './transport.ts';

/** The largest page that the service returns. */
const PAGE_SIZE = 100;

type Paged = { page?: number | undefined; limit?: number | undefined };
type Page<Item> = { readonly totalResults: number; readonly items: readonly Item[] };

/**
 * Every item from the given page on, or from the first. Items that are added while the walk runs push others onto the
 * next page, so an item that the last page has shown is not yielded again.
 */
export async function* allPages<Item, Query extends Paged>(
  readPage: (query: Query, options: CallOptions) => Promise<Page<Item>>,
  idOf: (item: Item) => string,
  query: Query,
  options: CallOptions = {},
): AsyncGenerator<Item, void, undefined> {
  const limit = query.limit ?? PAGE_SIZE;
  let shown = new Set<string>();
  for (let page = query.page ?? 1; ; page++) {
    const { totalResults, items } = await readPage({ ...query, page, limit }, options);
    for (const item of items) if (!shown.has(idOf(item))) yield item;
    if (items.length === 0 || page * limit >= totalResults) return;
    shown = new Set(items.map(idOf));
  }
}
