import { type DestinationKey, destinationKey } from '../../domain/destination.ts';
import type { Database, Queries } from '../../store/database/database.ts';
import type { Claimed, Sendable } from '../../store/deliveries/claimed.ts';
import { parkClaimed, redirectClaimed } from '../../store/deliveries/states.ts';

/** What is to become of a claimed delivery. */
type Place = { readonly send: Sendable } | { readonly movedTo: DestinationKey } | null;

/**
 * The webhook decides as it is now: deliveries of one that is gone or suspended are put where they belong, and those of
 * one that has moved take their turn at its new destination.
 */
export async function placeClaimed(db: Database, queries: Queries, claimed: Claimed): Promise<Place> {
  const { entityId, destination, postUrl, suspended } = claimed;
  if (postUrl === null || suspended) {
    await parkClaimed(queries, claimed, postUrl === null ? 'cancelled' : 'held');
    return null;
  }
  const movedTo = destinationKey(entityId, postUrl);
  if (movedTo === destination) return { send: { ...claimed, postUrl } };
  await redirectClaimed(db, queries, claimed, movedTo);
  return { movedTo };
}
