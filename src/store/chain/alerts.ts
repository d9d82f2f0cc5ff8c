import type { Database, Queries } from '../database/database.ts';
import type { RowOf } from '../database/sql.ts';
import { queueAlert } from '../deliveries/alerts.ts';
import type { FactRow } from './facts/new-facts.ts';
import type { Lease, Trouble } from './network-store.ts';
import { chainAlertTable, networkTable } from './tables.ts';

/**
 * Alerts about a stalled network, or about a disputed payment. A step adds a row to `chain_alerts`. Later polls queue the alert
 * entity by entity, each in its own transaction under the token of the lease. `halt.ts` has the reason.
 */

const STALLED_ALERT = 'chain.stalled';
export const RECOVERED_ALERT = 'chain.recovered';

/** Shorter trouble is ordinary on every network. */
const STALL_ALERT_MS = 300_000;
/** Limits a poll to a few seconds of work, so that a process that stops does not wait long for the poll. */
const ALERTS_PER_POLL = 200;

const troubleColumns = networkTable.pick(['stalledSinceMs', 'stalledReason', 'stalledNode', 'isStallAlerted']);
export type StoredTrouble = RowOf<typeof troubleColumns>;

const NO_TROUBLE: StoredTrouble = { stalledSinceMs: null, stalledReason: null, stalledNode: null, isStallAlerted: 0 };

/** Returns the trouble to store. Adds an alert once the trouble has lasted for some minutes, and another alert at its end. */
export async function noteTrouble(
  queries: Queries,
  networkId: number,
  before: StoredTrouble,
  trouble: Trouble | null,
  nowMs: number,
): Promise<StoredTrouble> {
  const { stalledSinceMs, isStallAlerted } = before;
  const about = ({ stalledReason, stalledNode }: StoredTrouble, sinceMs: number) => ({
    networkId,
    reason: stalledReason,
    ...(stalledNode !== null && { node: stalledNode }),
    dateSince: Math.floor(sinceMs / 1000),
  });
  if (trouble === null) {
    if (isStallAlerted === 1)
      await addAlert(queries, networkId, null, RECOVERED_ALERT, about(before, stalledSinceMs ?? nowMs));
    return NO_TROUBLE;
  }
  // If the clock was set back, the stall counts from now on.
  const sinceMs = Math.min(stalledSinceMs ?? nowMs, nowMs);
  const now = { stalledSinceMs: sinceMs, stalledReason: trouble.reason, stalledNode: trouble.node, isStallAlerted };
  if (isStallAlerted === 1 || nowMs - sinceMs < STALL_ALERT_MS) return now;
  await addAlert(queries, networkId, null, STALLED_ALERT, about(now, sinceMs));
  return { ...now, isStallAlerted: 1 };
}

/** Adds one alert for each entity, however many of its payments are disputed. */
export async function noteDisputes(
  queries: Queries,
  networkId: number,
  disputed: readonly FactRow[],
  nowMs: number,
): Promise<void> {
  for (const [entityId, facts] of Map.groupBy(disputed, (fact) => fact.entityId)) {
    const about = {
      networkId,
      reason: 'payment_disputed',
      payments: facts.length,
      factId: facts[0]?.factId,
      transactionHash: facts[0]?.transactionHash,
      dateSince: Math.floor(nowMs / 1000),
    };
    await addAlert(queries, networkId, entityId, STALLED_ALERT, about);
  }
}

/** The step has locked the row of the network, so no other step takes the same number. */
function addAlert(
  queries: Queries,
  networkId: number,
  entityId: string | null,
  event: string,
  about: Readonly<Record<string, unknown>>,
): Promise<number> {
  return queries.run(
    `insert into chain_alerts (network_id, no, entity_id, event, about, alerted_to)
     select $1, coalesce(max(no), 0) + 1, $2, $3, $4, '' from chain_alerts where network_id = $1`,
    [networkId, entityId, event, JSON.stringify(about)],
  );
}

type Alert = RowOf<typeof chainAlertTable>;

/** Queues the next alerts, oldest first. The next poll continues with the remaining ones. */
export async function queueAlerts(db: Database, lease: Lease): Promise<void> {
  const select = `select ${chainAlertTable.list} from chain_alerts where network_id = $1 order by no limit 1`;
  for (let left = ALERTS_PER_POLL; left > 0; ) {
    const alert = await chainAlertTable.get(db, select, [lease.networkId]);
    if (alert === undefined) return;
    const entityIds = await findReceivers(db, alert, left);
    for (const entityId of entityIds) if (!(await queueFor(db, lease, alert, entityId))) return;
    left -= Math.max(1, entityIds.length);
    // Below the limit, all receivers have the alert. At the limit, the next poll continues.
    if (left > 0) await endAlert(db, lease, alert);
  }
}

/** The entities with an alert URL that still have to get the alert. */
async function findReceivers(
  db: Database,
  { networkId, entityId, alertedTo }: Alert,
  limit: number,
): Promise<string[]> {
  if (entityId !== null) return alertedTo === '' ? [entityId] : [];
  const rows = await db.all<{ entity_id: string }>(
    `select distinct s.entity_id from sources s join entities e on e.id = s.entity_id
     where s.network_id = $1 and s.entity_id > $2 and e.notice_url is not null
     order by s.entity_id limit ${limit}`,
    [networkId, alertedTo],
  );
  return rows.map((row) => row.entity_id);
}

/** Returns false if another instance now holds the network. That instance continues with the alerts. */
function queueFor(db: Database, { networkId, token }: Lease, alert: Alert, entityId: string): Promise<boolean> {
  return db.transaction(async (queries) => {
    if (!(await isHolder(queries, db, networkId, token))) return false;
    const sql = 'update chain_alerts set alerted_to = $3 where network_id = $1 and no = $2 and alerted_to < $3';
    if ((await queries.run(sql, [networkId, alert.no, entityId])) === 0) return true;
    const about = JSON.parse(alert.about) as Record<string, unknown>;
    await queueAlert(queries, db.dialect, { entityId, networkId, event: alert.event }, about);
    return true;
  });
}

function endAlert(db: Database, { networkId, token }: Lease, { no }: Alert): Promise<void> {
  return db.transaction(async (queries) => {
    if (!(await isHolder(queries, db, networkId, token))) return;
    await queries.run('delete from chain_alerts where network_id = $1 and no = $2', [networkId, no]);
  });
}

/** Locks the row of the network, so that no other instance can take the lease before the end of the transaction. */
async function isHolder(queries: Queries, { dialect }: Database, networkId: number, token: number): Promise<boolean> {
  const sql = `select network_id from chains where network_id = $1 and token = $2 ${dialect.lockRow}`;
  return (await queries.get(sql, [networkId, token])) !== undefined;
}
