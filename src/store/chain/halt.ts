import { readNowMs } from '../database/clock.ts';
import type { Database } from '../database/database.ts';
import { queueAlert } from '../deliveries/alerts.ts';
import type { Lease, SourceKey } from './network-store.ts';

/** What stops a network or a source, with an alert to those whom it concerns. */

export const HALTED_ALERT = 'chain.halted';
export const PAUSED_ALERT = 'source.paused';

/** Nothing more of the network is told until an operator resumes it. */
export function haltNetwork(db: Database, { networkId, token }: Lease, reason: string): Promise<void> {
  return db.transaction(async (queries) => {
    const nowMs = await readNowMs(queries, db.dialect);
    const changed = await queries.run(
      `update chains set halted_at_ms = $3, halted_reason = $4
       where network_id = $1 and token = $2 and halted_at_ms is null`,
      [networkId, token, nowMs, reason],
    );
    if (changed === 0) return;
    const concerned = await queries.all<{ entity_id: string }>(
      `select distinct s.entity_id from sources s join entities e on e.id = s.entity_id
       where s.network_id = $1 and e.notice_url is not null order by s.entity_id`,
      [networkId],
    );
    const about = { networkId, reason, dateHalted: Math.floor(nowMs / 1000) };
    for (const { entity_id: entityId } of concerned) {
      await queueAlert(queries, db.dialect, { entityId, networkId, event: HALTED_ALERT }, about);
    }
  });
}

/**
 * A source that brings more than the network's follower can take; the others go on. Returns false, and pauses nothing, where
 * another instance holds the network now.
 */
export function pauseSources(
  db: Database,
  { networkId, token }: Lease,
  sources: readonly SourceKey[],
  reason: string,
): Promise<boolean> {
  return db.transaction(async (queries) => {
    const isHeld = `select network_id from chains where network_id = $1 and token = $2 ${db.dialect.lockRow}`;
    if ((await queries.get(isHeld, [networkId, token])) === undefined) return false;
    const nowMs = await readNowMs(queries, db.dialect);
    for (const { entityId, sourceId } of sources) {
      const changed = await queries.run(
        `update sources set paused_at_ms = $3, paused_reason = $4
         where entity_id = $1 and id = $2 and paused_at_ms is null`,
        [entityId, sourceId, nowMs, reason],
      );
      if (changed === 0) continue;
      const about = { networkId, sourceId, reason, datePaused: Math.floor(nowMs / 1000) };
      await queueAlert(queries, db.dialect, { entityId, networkId, event: PAUSED_ALERT }, about);
    }
    return true;
  });
}
