import type { Database, Dialect, Queries } from '../../database/database.ts';
import { byEntity, chunks, deliveryKey, valuesList } from '../../database/sql.ts';
import { wakeHeads } from '../heads.ts';
import type { Claimed } from './claimed.ts';

/** What ends a lease before its time. */

/** Returns what was claimed and not sent, if it is still ours: it is due at once. */
export async function returnClaims(queries: Queries, dialect: Dialect, claimed: readonly Claimed[]): Promise<void> {
  const { from, where } = dialect.rowsOf('queue', 'ours', ['entity_id', 'id']);
  for (const chunk of byEntity(dialect, claimed).flatMap((some) => [...chunks(some)])) {
    await queries.run(
      `with ours (entity_id, id, token) as (values ${valuesList(chunk.length, 3, 0, [dialect.uuid, dialect.uuid, 'bigint'])})
       update queue set lease_ms = 0 from ${from} where ${where} and queue.token = ours.token`,
      chunk.flatMap((delivery) => [...deliveryKey(dialect, delivery), delivery.token]),
    );
  }
  await wakeHeads(
    queries,
    dialect,
    claimed.map(({ entityId, webhookNo }) => ({ entityId, webhookNo, atMs: 0, isWaiting: true })),
  );
}

/** Where one process is all there is, every lease found at its start is that of a dead one. */
export function releaseAllLeases(db: Database): Promise<number> {
  return db.transaction(async (queries) => {
    const released = await queries.run('update queue set lease_ms = 0 where lease_ms > 0');
    await queries.run('update queue_heads set next_due_ms = 0 where blocked = 0 and next_due_ms > 0');
    return released;
  });
}
