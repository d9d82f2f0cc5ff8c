import { type DestinationKey, destinationKey } from '../../domain/destination.ts';
import type { Database, Queries } from '../../store/database/database.ts';
import { claimDue } from '../../store/deliveries/claim.ts';
import type { Claimed, Sendable } from '../../store/deliveries/claimed.ts';
import { parkClaimed, redirectClaimed } from '../../store/deliveries/states.ts';
import type { MadeClaim, PlannedClaim } from './claim-planner.ts';

/**
 * When it has taken this long a transaction makes no further claims. SQLite stops the event loop meanwhile; PostgreSQL far
 * away would otherwise not get all of them done before the deadline of a transaction.
 */
const MAX_CLAIMS_MS = { sqlite: 8, postgres: 500 } as const;

export type Claims = {
  readonly sendable: Sendable[];
  /** Claims of deliveries that this process holds already: its lease had expired while it was stalled. */
  readonly renewed: Claimed[];
  /** Destinations that got redirected deliveries. */
  readonly redirectedTo: DestinationKey[];
  /** What came of each planned claim. */
  readonly made: MadeClaim[];
};

/** Makes the planned claims in one transaction. Those that it has no time for count as having found all they asked for. */
export function makeClaims(
  db: Database,
  planned: readonly PlannedClaim[],
  leaseMs: number,
  isHeld: (claimed: Claimed) => boolean,
): Promise<Claims> {
  return db.transaction(async (queries) => {
    // A plan cached for an empty store would make each claim read the long backlog of another destination.
    for (const sql of db.dialect.replan) await queries.run(sql);
    const claims: Claims = { sendable: [], renewed: [], redirectedTo: [], made: [] };
    const endsAtMs = performance.now() + MAX_CLAIMS_MS[db.engine];
    for (const { destination, limit } of planned) {
      const isInTime = claims.made.length === 0 || performance.now() < endsAtMs;
      const claimed = isInTime ? await claimDue(db, queries, destination, limit, leaseMs) : [];
      const before = claims.sendable.length;
      for (const delivery of claimed) {
        if (isHeld(delivery)) claims.renewed.push(delivery);
        else await sort(db, queries, delivery, claims);
      }
      const found = isInTime ? claimed.length : limit;
      claims.made.push({ destination, limit, found, enqueued: claims.sendable.length - before });
    }
    return claims;
  });
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
  claims.redirectedTo.push(current);
}
