import { readNowMs } from '../database/clock.ts';
import type { Database } from '../database/database.ts';
import { queueAlert } from '../deliveries/alerts.ts';
import type { Lease, SourceKey } from './network-store.ts';
import { networkTable } from './tables.ts';

/**
 * What stops a network or a source, with an alert to those whom it concerns. Each alert is queued in a transaction of its own,
 * under the token of the lease: thousands of them would exceed the deadline of one transaction, again at every poll, and
 * two transactions that each write the heads and counters of several entities could wait for each other.
 */

export const HALTED_ALERT = 'chain.halted';
export const PAUSED_ALERT = 'source.paused';

/** A few seconds of work, so that a process that stops does not wait long for the poll. */
const ALERTS_PER_POLL = 200;

/** Nothing more of the network is told until an operator resumes it. */
export async function haltNetwork(db: Database, lease: Lease, reason: string): Promise<void> {
  await db.transaction((queries) =>
    queries.run(
      `update chains set halted_at_ms = ${db.dialect.nowMs}, halted_reason = $3, halt_told_to = ''
       where network_id = $1 and token = $2 and halted_at_ms is null`,
      [lease.networkId, lease.token, reason],
    ),
  );
  await alertHalted(db, lease);
}

const haltColumns = networkTable.pick(['haltedAtMs', 'haltedReason', 'haltToldTo']);

/** The next alerts of a halt, in the order of the entities; every poll of a halted network goes on with them. */
export async function alertHalted(db: Database, lease: Lease): Promise<void> {
  const { networkId } = lease;
  const select = `select ${haltColumns.list} from chains where network_id = $1 and halt_told_to is not null`;
  const halt = await haltColumns.get(db, select, [networkId]);
  if (halt === undefined || halt.haltedAtMs === null || halt.haltToldTo === null) return;
  const concerned = await db.all<{ entity_id: string }>(
    `select distinct s.entity_id from sources s join entities e on e.id = s.entity_id
     where s.network_id = $1 and s.entity_id > $2 and e.notice_url is not null
     order by s.entity_id limit ${ALERTS_PER_POLL}`,
    [networkId, halt.haltToldTo],
  );
  const about = { networkId, reason: halt.haltedReason, dateHalted: Math.floor(halt.haltedAtMs / 1000) };
  let toldTo = halt.haltToldTo;
  for (const { entity_id: entityId } of concerned) {
    if (!(await alertNext(db, lease, toldTo, entityId, about))) return;
    toldTo = entityId;
  }
  if (concerned.length < ALERTS_PER_POLL) await alertNext(db, lease, toldTo, null, about);
}

/** Null where no one is left. Returns false where another instance goes on, or the network was resumed. */
function alertNext(
  db: Database,
  { networkId, token }: Lease,
  toldTo: string,
  entityId: string | null,
  about: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  return db.transaction(async (queries) => {
    const changed = await queries.run(
      'update chains set halt_told_to = $4 where network_id = $1 and token = $2 and halt_told_to = $3',
      [networkId, token, toldTo, entityId],
    );
    if (changed === 0) return false;
    if (entityId !== null) await queueAlert(queries, db.dialect, { entityId, networkId, event: HALTED_ALERT }, about);
    return true;
  });
}

/**
 * A source that brings more than the network's follower can take; the others go on. Returns false where another instance holds
 * the network now. What a crash leaves out is found again by the next poll.
 */
export async function pauseSources(
  db: Database,
  lease: Lease,
  sources: readonly SourceKey[],
  reason: string,
): Promise<boolean> {
  for (const source of sources) {
    if (!(await pauseSource(db, lease, source, reason))) return false;
  }
  return true;
}

function pauseSource(
  db: Database,
  { networkId, token }: Lease,
  { entityId, sourceId }: SourceKey,
  reason: string,
): Promise<boolean> {
  return db.transaction(async (queries) => {
    const isHeld = `select network_id from chains where network_id = $1 and token = $2 ${db.dialect.lockRow}`;
    if ((await queries.get(isHeld, [networkId, token])) === undefined) return false;
    const nowMs = await readNowMs(queries, db.dialect);
    const changed = await queries.run(
      `update sources set paused_at_ms = $3, paused_reason = $4
       where entity_id = $1 and id = $2 and paused_at_ms is null`,
      [entityId, sourceId, nowMs, reason],
    );
    if (changed === 0) return true;
    const about = { networkId, sourceId, reason, datePaused: Math.floor(nowMs / 1000) };
    await queueAlert(queries, db.dialect, { entityId, networkId, event: PAUSED_ALERT }, about);
    return true;
  });
}
