import { type DestinationKey, destinationKey } from '../../domain/destination.ts';
import type { Database, Queries } from '../../store/database/database.ts';
import { claimDue } from '../../store/deliveries/claim.ts';
import type { Claimed, Sendable } from '../../store/deliveries/claimed.ts';
import { parkClaimed, redirectClaimed } from '../../store/deliveries/states.ts';
import type { PlannedClaim } from './claim-planner.ts';
import type { LocalQueue } from './local-queue.ts';

export type Claims = {
  readonly sendable: Sendable[];
  /** Claims of deliveries that this process holds already: its lease had expired while it was stalled. */
  readonly renewed: Claimed[];
  /** Destinations that filled their claim or got redirected deliveries. */
  readonly mayHaveMore: DestinationKey[];
};

/** Makes the planned claims in the engine's transaction. */
export async function makeClaims(
  db: Database,
  queries: Queries,
  queue: LocalQueue,
  planned: readonly PlannedClaim[],
  leaseMs: number,
): Promise<Claims> {
  const claims: Claims = { sendable: [], renewed: [], mayHaveMore: [] };
  for (const { destination, limit } of planned) {
    const claimed = await claimDue(db, queries, destination, limit, leaseMs);
    if (claimed.length === limit) claims.mayHaveMore.push(destination);
    for (const delivery of claimed) {
      if (queue.find(delivery.deliveryId) !== undefined) claims.renewed.push(delivery);
      else await sort(db, queries, delivery, claims);
    }
  }
  return claims;
}

/**
 * By the webhook as it is now: the deliveries of a deleted webhook are cancelled, those of a suspended one are held, and
 * those of one with a new URL become due at its new destination.
 */
async function sort(db: Database, queries: Queries, delivery: Claimed, claims: Claims): Promise<void> {
  const { entityId, destination, postUrl, suspended } = delivery;
  if (postUrl === null || suspended) {
    await parkClaimed(queries, delivery, postUrl === null ? 'cancelled' : 'held');
    return;
  }
  const current = destinationKey(entityId, postUrl);
  if (current === destination) {
    claims.sendable.push({ ...delivery, postUrl });
    return;
  }
  await redirectClaimed(db, queries, delivery, current);
  claims.mayHaveMore.push(current);
}
