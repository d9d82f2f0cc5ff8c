import type { Database, Dialect, Queries } from '../../database/database.ts';
import { byEntity, chunks, deliveryKey, valuesList } from '../../database/sql.ts';
import { wakeHeads } from '../heads.ts';
import type { Claimed } from './claimed.ts';

/** Ends leases early. */

/** The length of a lease in seconds, as `lease_s` stores it. */
export function leaseSeconds(leaseMs: number): number {
  return Math.ceil(leaseMs / 1_000);
}

/**
 * Returns claims that were not sent and that no other instance has taken over. Their deliveries are due at once, and
 * `may_be_received` gets its value from before the claim.
 */
export async function returnClaims(queries: Queries, dialect: Dialect, claimed: readonly Claimed[]): Promise<void> {
  const { from, where } = dialect.rowsOf('queue', 'ours', ['entity_id', 'id']);
  const types = [dialect.uuid, dialect.uuid, 'bigint', 'smallint'];
  for (const chunk of byEntity(dialect, claimed).flatMap((some) => [...chunks(some)])) {
    await queries.run(
      `with ours (entity_id, id, token, was_received) as (values ${valuesList(chunk.length, types.length, 0, types)})
       update queue set lease_ms = 0, may_be_received = ours.was_received from ${from} where ${where} and queue.token = ours.token`,
      chunk.flatMap((delivery) => [...deliveryKey(dialect, delivery), delivery.token, delivery.mayBeReceived ? 1 : 0]),
    );
  }
  await wakeHeads(
    queries,
    dialect,
    claimed.map(({ entityId, webhookNo }) => ({ entityId, webhookNo, atMs: 0, isWaiting: true })),
  );
}

/** With a single process, any lease found at startup belongs to a dead process. */
export function releaseAllLeases(db: Database): Promise<number> {
  return db.transaction(async (queries) => {
    const released = await queries.run('update queue set lease_ms = 0 where lease_ms > 0');
    await queries.run('update queue_heads set next_due_ms = 0, full_look_ms = 0, write_count = write_count + 1');
    return released;
  });
}
