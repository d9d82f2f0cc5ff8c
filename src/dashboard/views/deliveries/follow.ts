import type { Delivery, DeliveryList, DeliveryListQuery } from '../../../client/deliveries.ts';

/** The deliveries on screen, and how many newer ones are not shown so that no row moves while someone is reading. */
export type Shown = { readonly list: DeliveryList; readonly newer: number };

export type FetchList = (query: DeliveryListQuery) => Promise<DeliveryList>;

export async function showNewest(fetchList: FetchList, query: DeliveryListQuery): Promise<Shown> {
  return { list: await fetchList(query), newer: 0 };
}

/**
 * Refreshes the deliveries on screen without moving them: deliveries newer than the first one are counted, not shown.
 */
export async function keepInPlace(fetchList: FetchList, query: DeliveryListQuery, shown: Shown): Promise<Shown> {
  const first = shown.list.deliveries[0];
  if (first === undefined) return showNewest(fetchList, query);
  const untilS = Math.min(Number(query.until ?? Number.POSITIVE_INFINITY), first.dateCreated + 1);
  const [all, current] = await Promise.all([fetchList({ ...query, limit: 1 }), fetchList({ ...query, until: untilS })]);
  return mergeInPlace(shown, all.totalResults, current);
}

/** `current` ends with the second of the first delivery shown, so it may begin with newer ones from that second. */
function mergeInPlace(shown: Shown, totalResults: number, current: DeliveryList): Shown {
  const before = shown.list.deliveries;
  const positions = new Map(current.deliveries.map(({ deliveryId }, index) => [deliveryId, index]));
  const known = before.find(({ deliveryId }) => positions.has(deliveryId));
  if (known === undefined) {
    // More arrived within that second than fit on a page, or all have left the filter: keep what is on screen.
    const seen = shown.list.totalResults - shown.newer;
    return { list: { ...shown.list, totalResults }, newer: Math.max(0, totalResults - seen) };
  }
  const skipped = positions.get(before[0]?.deliveryId ?? '') ?? 0;
  const kept = current.deliveries.slice(skipped);
  const deliveries = [...kept, ...pushedOff(before, kept)];
  const list = { ...current, totalResults, deliveries };
  return { list, newer: Math.max(0, totalResults - current.totalResults + skipped) };
}

/**
 * The rows after the last kept row, which newer deliveries have pushed off the page. Any other missing row no longer
 * matches the filter.
 */
function pushedOff(before: readonly Delivery[], kept: readonly Delivery[]): readonly Delivery[] {
  const last = kept.at(-1);
  if (last === undefined) return [];
  const index = before.findIndex(({ deliveryId }) => deliveryId === last.deliveryId);
  return index === -1 ? [] : before.slice(index + 1);
}
