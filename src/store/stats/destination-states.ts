import type { EndpointState } from '../../domain/endpoints/settings.ts';
import { receiverOf } from '../../domain/post-url.ts';
import { OVERDUE_AFTER_MS } from '../attention/troubles.ts';
import type { Dialect, Reads, SqlUuid } from '../database/database.ts';
import { Columns, integer, nullable, text } from '../database/sql.ts';
import { BLOCKED } from '../deliveries/heads.ts';

/** The present state of each destination: the state of its endpoints, and the deliveries that wait for it. */

export type DestinationState = {
  readonly state: EndpointState;
  readonly waiting: number;
  /** When the first overdue delivery was due; null if none is overdue. */
  readonly dateOldestDue: number | null;
};

export const QUIET: DestinationState = { state: 'active', waiting: 0, dateOldestDue: null };

/** Due heads that are read for one response. */
const MAX_DUE_HEADS = 256;

const stateColumns = new Columns({
  key: text('h.destination'),
  suspended: integer(`sum(case when h.blocked = ${BLOCKED.suspended} then 1 else 0 end)`),
  failing: integer('sum(case when h.blocked = 0 and h.failing_since_ms is not null then 1 else 0 end)'),
  paused: integer(`sum(case when h.blocked >= ${BLOCKED.paused} then 1 else 0 end)`),
  waiting: integer('coalesce(sum(c.waiting), 0)'),
});

const dueColumns = new Columns({ key: text('destination'), dueMs: nullable(integer('min(due_ms)')) });

type Standing = { suspended: number; failing: number; paused: number; waiting: number; dueMs: number | null };

/**
 * Reads the states by the names that destinations have in the statistics. An endpoint with a rate limit counts among the other
 * endpoints of its host.
 */
export async function readDestinationStates(
  reads: Reads,
  dialect: Dialect,
  entity: SqlUuid,
): Promise<Map<string, DestinationState>> {
  const standings = new Map<string, Standing>();
  const rows = await stateColumns.all(
    reads,
    `select ${stateColumns.list} from queue_heads h
     left join (select webhook_no, sum(waiting) as waiting from queue_counts where entity_id = $1 group by webhook_no) c
       on c.webhook_no = h.webhook_no
     where h.entity_id = $1 and h.webhook_no > 0 and h.blocked < ${BLOCKED.deleted} group by h.destination`,
    [entity],
  );
  for (const { key, ...counts } of rows) {
    const before = standings.get(receiverOf(key));
    standings.set(receiverOf(key), {
      suspended: counts.suspended + (before?.suspended ?? 0),
      failing: counts.failing + (before?.failing ?? 0),
      paused: counts.paused + (before?.paused ?? 0),
      waiting: counts.waiting + (before?.waiting ?? 0),
      dueMs: null,
    });
  }
  for (const { key, dueMs } of await readOverdue(reads, dialect, entity)) {
    const standing = standings.get(receiverOf(key));
    if (standing !== undefined && dueMs !== null) standing.dueMs = Math.min(standing.dueMs ?? dueMs, dueMs);
  }
  return new Map([...standings].map(([destination, standing]) => [destination, toState(standing)]));
}

/** One seek for each head that is due, in the order of the index. */
function readOverdue(reads: Reads, { nowMs }: Dialect, entity: SqlUuid) {
  return dueColumns.all(
    reads,
    `select ${dueColumns.list} from (
       select h.destination, (select min(q.due_ms) from queue q where q.entity_id = $1 and q.webhook_no = h.webhook_no
         and q.generation = h.generation and q.lease_ms <= ${nowMs}) as due_ms
       from (select destination, webhook_no, generation from queue_heads
         where entity_id = $1 and blocked = 0 and next_due_ms <= ${nowMs} and webhook_no > 0 limit ${MAX_DUE_HEADS}) h) due
     where due_ms <= ${nowMs} - ${OVERDUE_AFTER_MS} group by destination`,
    [entity],
  );
}

/** The state of a destination is the worst state of its endpoints. */
function toState({ suspended, failing, paused, waiting, dueMs }: Standing): DestinationState {
  const state = suspended > 0 ? 'suspended' : failing > 0 ? 'failing' : paused > 0 ? 'paused' : 'active';
  return { state, waiting, dateOldestDue: dueMs === null ? null : Math.floor(dueMs / 1000) };
}

const RANKS: Readonly<Record<EndpointState, number>> = { suspended: 0, failing: 1, paused: 3, active: 4 };

/** The rank for sorting: the lowest rank needs attention most. A receiver with overdue deliveries comes before a paused one. */
export function rankOf({ state, dateOldestDue }: DestinationState): number {
  return Math.min(RANKS[state], dateOldestDue === null ? RANKS.active : 2);
}
