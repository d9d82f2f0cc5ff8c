import type { Database, SqlInteger, SqlUuid } from '../database/database.ts';
import { BLOCKED } from '../deliveries/heads.ts';

/** The troubles of all entities. Each kind is read along its own index, so that the cost grows only with the number of troubles. */

/** A delivery that is due for longer than this counts as overdue. A healthy instance sends within seconds. */
export const OVERDUE_AFTER_MS = 60_000;

export type Troubles = {
  failingEndpoints: number;
  suspendedEndpoints: number;
  /** Paused endpoints that hold at least one delivery. */
  pausedEndpoints: number;
  pausedSources: number;
  /** When the first overdue delivery was due; null if none is overdue. */
  oldestDueMs: number | null;
};

export const NO_TROUBLES: Troubles = {
  failingEndpoints: 0,
  suspendedEndpoints: 0,
  pausedEndpoints: 0,
  pausedSources: 0,
  oldestDueMs: null,
};

/**
 * Troubles by entity. `ofDeliveries` has the hex digits of the entity's key, and `ofSources` the entity's id, because sources are
 * stored by id.
 */
export type AllTroubles = {
  readonly ofDeliveries: ReadonlyMap<string, Omit<Troubles, 'pausedSources'>>;
  readonly ofSources: ReadonlyMap<string, number>;
};

export async function readTroubles(db: Database): Promise<AllTroubles> {
  const { hexOf } = db.dialect;
  const ofDeliveries = new Map<string, Omit<Troubles, 'pausedSources'>>();
  for (const { entity_id, ...row } of await readEndpointStates(db)) {
    ofDeliveries.set(hexOf(entity_id), {
      failingEndpoints: Number(row.failing),
      suspendedEndpoints: Number(row.suspended),
      pausedEndpoints: Number(row.paused),
      oldestDueMs: null,
    });
  }
  for (const { entity_id, due_ms } of await readOverdue(db)) {
    const key = hexOf(entity_id);
    ofDeliveries.set(key, { ...(ofDeliveries.get(key) ?? NO_TROUBLES), oldestDueMs: Number(due_ms) });
  }
  const sources = await db.longReads.all<{ entity_id: string; total: SqlInteger }>(
    'select entity_id, count(*) as total from sources where paused_at_ms is not null group by entity_id',
  );
  return { ofDeliveries, ofSources: new Map(sources.map(({ entity_id, total }) => [entity_id, Number(total)])) };
}

const { suspended: SUSPENDED, paused: PAUSED, deleted: DELETED } = BLOCKED;

type StatesRow = { entity_id: SqlUuid; failing: SqlInteger; suspended: SqlInteger; paused: SqlInteger };

/**
 * Counts each endpoint once, under the first state that applies to it. A paused or suspended head without deliveries has no row
 * in the counters.
 */
function readEndpointStates(db: Database): Promise<StatesRow[]> {
  const columns = 'entity_id, webhook_no, endpoint_no, blocked, failing_since_ms';
  return db.longReads.all<StatesRow>(
    `select entity_id, sum(case when is_paused = 0 and is_suspended = 0 then 1 else 0 end) as failing,
       sum(case when is_paused = 0 and is_suspended = 1 then 1 else 0 end) as suspended,
       sum(case when is_paused = 1 and waiting > 0 then 1 else 0 end) as paused
     from (select h.entity_id, h.endpoint_no, max(case when h.blocked >= ${PAUSED} then 1 else 0 end) as is_paused,
         max(case when h.blocked in (${SUSPENDED}, ${SUSPENDED + PAUSED}) then 1 else 0 end) as is_suspended,
         sum((select coalesce(sum(c.waiting), 0) from queue_counts c
           where c.entity_id = h.entity_id and c.webhook_no = h.webhook_no)) as waiting
       from (select ${columns} from queue_heads where failing_since_ms is not null and blocked = 0 and webhook_no > 0
         union all select ${columns} from queue_heads where blocked between 1 and ${DELETED - 1} and webhook_no > 0) h
       group by h.entity_id, h.endpoint_no) endpoint
     group by entity_id`,
  );
}

type OverdueRow = { entity_id: SqlUuid; due_ms: SqlInteger };

/**
 * Finds, for each due head, the first delivery that is overdue and unclaimed. A hint that is too late hides a delivery until the
 * auditor repairs the hint. After a resume, deliveries of an older generation are due at once.
 */
function readOverdue(db: Database): Promise<OverdueRow[]> {
  const { nowMs } = db.dialect;
  // Reads in the order of the index and stops at the first row without a lease, however long the queue is.
  const first = (generation: string, order: string) => `select h.entity_id, (select q.due_ms from queue q
      where q.entity_id = h.entity_id and q.webhook_no = h.webhook_no and q.generation ${generation} h.generation
        and q.due_ms <= ${nowMs} - ${OVERDUE_AFTER_MS} and q.lease_ms <= ${nowMs} order by ${order} limit 1) as due_ms
    from queue_heads h where h.blocked = 0 and h.next_due_ms <= ${nowMs}`;
  return db.longReads.all<OverdueRow>(
    `select entity_id, min(due_ms) as due_ms
     from (${first('=', 'q.due_ms')} union all ${first('<', 'q.generation, q.due_ms')}) overdue
     where due_ms is not null group by entity_id`,
  );
}
