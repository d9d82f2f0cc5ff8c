import type { Delivery, DeliveryList, DeliveryListQuery } from '../../../client/types.ts';

/** What the list shows, and how many newer ones wait above it until the person has finished reading. */
export type Shown = { readonly list: DeliveryList; readonly waiting: number };

export type AskList = (query: DeliveryListQuery) => Promise<DeliveryList>;

/** The newest page. */
export async function showNewest(ask: AskList, query: DeliveryListQuery): Promise<Shown> {
  return { list: await ask(query), waiting: 0 };
}

/**
 * The page as it stands, each of its deliveries as it is now: what came after its first is counted and not shown, so
 * that nothing moves under the eyes of whoever reads it.
 */
export async function keepInPlace(ask: AskList, query: DeliveryListQuery, shown: Shown): Promise<Shown> {
  const first = shown.list.deliveries[0];
  if (first === undefined) return showNewest(ask, query);
  const untilS = Math.min(Number(query.until ?? Number.POSITIVE_INFINITY), first.dateCreated + 1);
  const [all, now] = await Promise.all([ask({ ...query, limit: 1 }), ask({ ...query, until: untilS })]);
  return heldBack(shown, all.totalResults, now);
}

/** `now` is the page up to the second of the first one shown, and so may begin with newer ones of that second. */
export function heldBack(shown: Shown, totalResults: number, now: DeliveryList): Shown {
  const before = shown.list.deliveries;
  const places = new Map(now.deliveries.map(({ deliveryId }, index) => [deliveryId, index]));
  const known = before.find(({ deliveryId }) => places.has(deliveryId));
  if (known === undefined) {
    // More came within that second than a page holds, or all have left the filter: what is shown stays until asked.
    const seen = shown.list.totalResults - shown.waiting;
    return { list: { ...shown.list, totalResults }, waiting: Math.max(0, totalResults - seen) };
  }
  const newer = places.get(before[0]?.deliveryId ?? '') ?? 0;
  const kept = now.deliveries.slice(newer);
  const deliveries = [...kept, ...pushedOff(before, kept)];
  return { list: { totalResults, deliveries }, waiting: Math.max(0, totalResults - now.totalResults + newer) };
}

/** Those that only stand too deep by now; one that left the filter was shown above the last of the kept and is gone. */
function pushedOff(before: readonly Delivery[], kept: readonly Delivery[]): readonly Delivery[] {
  const last = kept.at(-1);
  if (last === undefined) return [];
  const index = before.findIndex(({ deliveryId }) => deliveryId === last.deliveryId);
  return index === -1 ? [] : before.slice(index + 1);
}
