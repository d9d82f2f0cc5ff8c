import { type DestinationKey, entityOfDestination } from '../../../domain/post-url.ts';
import {
  type Database,
  type Dialect,
  ofEntity,
  type Queries,
  type SqlValue,
  StoreUnavailableError,
} from '../../database/database.ts';
import {
  byEntity,
  Columns,
  chunks,
  integer,
  Parameters,
  planForClaims,
  powersOfTwo,
  text,
  textByRows,
  valuesList,
} from '../../database/sql.ts';
import { type Head, IS_OPEN, isFullLookSql, ownerOf, readHeads, startOfLook } from './claim-heads.ts';
import type { Claimed } from './claimed.ts';
import { headsPastMark, postponeHeads } from './head-looks.ts';
import { leaseSeconds } from './leases.ts';
import { type ClaimedRow, claimedColumns, loadClaimed } from './load-claimed.ts';

/**
 * Claims due deliveries. The lease runs by the database clock, so that the work of a dead instance becomes due again.
 * The token counts claims: an instance that was wrongly taken for dead cannot record a failure over a newer claim.
 * These statements belong to the dispatcher and serve all entities.
 */

export type Pick = { destination: DestinationKey; most: number };

export type ClaimResult = {
  claimed: Claimed[];
  /** Destinations that returned the full limit, and so may have more. */
  mayHaveMore: DestinationKey[];
};

/**
 * Claims for all picks in one transaction and, on PostgreSQL, one statement. With a database 10 ms away, one statement for each
 * pick would be too slow.
 */
export async function claimDeliveries(db: Database, picks: readonly Pick[], leaseMs: number): Promise<ClaimResult> {
  if (!db.dialect.isDistributed) return claimIn(db, picks, leaseMs);
  const owned = picks.map((pick) => ({ ...pick, entityId: entityOfDestination(pick.destination) }));
  // If a worker of Citus is down, a later scan finds its deliveries once it is back.
  const claims = byEntity(db.dialect, owned).map((some) => claimIn(db, some, leaseMs, some[0]?.entityId));
  const settled = await Promise.allSettled(claims);
  const parts = settled.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  const failed = settled.find((one) => one.status === 'rejected');
  const isPartial = parts.length > 0 && failed?.reason instanceof StoreUnavailableError;
  if (failed !== undefined && !isPartial) throw failed.reason;
  return {
    claimed: parts.flatMap(({ claimed }) => claimed),
    mayHaveMore: parts.flatMap(({ mayHaveMore }) => mayHaveMore),
  };
}

function claimIn(db: Database, picks: readonly Pick[], leaseMs: number, entityId?: string): Promise<ClaimResult> {
  const { dialect } = db;
  const ofOne = ofEntity(db, entityId);
  return db.transaction(async (queries) => {
    const leaseEndsMs = performance.now() + leaseMs;
    const nowMs = await planForClaims(queries, dialect);
    const together = dialect.uuid === 'uuid' ? await claimTogether(queries, dialect, picks, nowMs, leaseMs) : null;
    const destinations = picks.map(({ destination }) => destination);
    const heads = await readHeads(queries, dialect, destinations);
    const rows =
      together ?? (await claimEach(queries, picks, heads, nowMs, leaseMs, dialect.leaseClock.endedBy(nowMs)));
    const claimed = await loadClaimed(queries, dialect, heads, rows, { nowMs, leaseEndsMs });
    const counts = Map.groupBy(claimed, ({ destination }) => destination);
    const isExhausted = ({ destination, most }: Pick) => (counts.get(destination)?.length ?? 0) < most;
    const exhausted = new Set(picks.filter(isExhausted).map(({ destination }) => destination));
    const unfinished = heads.filter((head) => !exhausted.has(head.destination));
    const ahead = headsPastMark(dialect, unfinished, rows, nowMs);
    const looked = heads.filter((head) => exhausted.has(head.destination) || ahead.has(head));
    await postponeHeads(queries, dialect, looked, ahead, nowMs);
    const mayHaveMore = picks.filter((pick) => !isExhausted(pick)).map(({ destination }) => destination);
    return { claimed, mayHaveMore };
  }, ofOne);
}

/**
 * Rows of an older generation are due at once, rows of the head's own generation at their due time. Claims start at the mark
 * of the head, unless it is time for a full look.
 */
const dueRows = (
  { ofEntity }: Dialect,
  now: string,
  ended: string,
) => `select queue.ctid as place, queue.may_be_received as was_received from queue
  where queue.entity_id = h.entity_id and queue.webhook_no = h.webhook_no and queue.lease_ms <= ${ended}
    and (queue.generation, queue.due_ms) >= (case when ${isFullLookSql(now)} then 0 else h.generation end,
      case when ${isFullLookSql(now)} then 0 else h.look_from_ms end)
    and (queue.generation, queue.due_ms) <= (h.generation, ${now})${ofEntity('queue')}
  order by queue.generation, queue.due_ms limit p.most for update skip locked`;

const togetherColumns = new Columns({
  ...claimedColumns.shape,
  mayBeReceived: integer(),
  destination: text<DestinationKey>(),
});

async function claimTogether(
  queries: Queries,
  dialect: Dialect,
  picks: readonly Pick[],
  nowMs: number,
  leaseMs: number,
): Promise<ClaimedRow[]> {
  const claimed: ClaimedRow[] = [];
  for (const chunk of chunks(picks)) {
    const owner = ownerOf(
      dialect,
      chunk.map(({ destination }) => destination),
    );
    const parameters = new Parameters(...owner);
    const [now, until] = [parameters.bind(nowMs), parameters.bind(nowMs + leaseMs)];
    const ended = parameters.bind(dialect.leaseClock.endedBy(nowMs));
    const list = valuesList(chunk.length, 2, parameters.values.length, ['text', 'bigint']);
    // `due` is materialized, because PostgreSQL might otherwise run the inner select once for each row and exceed the limit.
    const rows = await togetherColumns.all(
      queries,
      `with picks (destination, most) as (values ${list}),
       due as materialized (
         select d.place, d.was_received, p.destination from picks p cross join lateral (
           select q.place, q.was_received from queue_heads h cross join lateral (${dueRows(dialect, now, ended)}) q
           where h.destination = p.destination and h.${IS_OPEN}${dialect.ofEntity('h')}
           limit p.most) d)
       update queue set lease_ms = ${until}, lease_s = ${leaseSeconds(leaseMs)}, token = token + 1, may_be_received = 1 from due
       where queue.ctid = due.place${dialect.ofEntity('queue')}
       returning due.destination as "destination", due.was_received as "mayBeReceived", ${claimedColumns.of('queue.')}`,
      [...parameters.values, ...chunk.flatMap(({ destination, most }): SqlValue[] => [destination, most])],
    );
    claimed.push(...rows);
  }
  return claimed;
}

const dueColumns = new Columns({ ...claimedColumns.shape, mayBeReceived: integer('may_be_received') });

const claimText = textByRows(
  (rows) => `update queue set lease_ms = $2, token = token + 1, may_be_received = 1, lease_s = $3
    where entity_id = $1 and id in ${valuesList(1, rows, 3)}`,
);

/**
 * Claims head by head on SQLite, which has no lateral join and runs a statement within microseconds. Its `returning` has only the
 * new values, so the rows are read first. No other writer can change them in between.
 */
async function claimEach(
  queries: Queries,
  picks: readonly Pick[],
  heads: readonly Head[],
  nowMs: number,
  leaseMs: number,
  endedByMs: number,
): Promise<ClaimedRow[]> {
  const claimed: ClaimedRow[] = [];
  const byDestination = Map.groupBy(heads, ({ destination }) => destination);
  for (const { destination, most } of picks) {
    let wanted = most;
    for (const head of byDestination.get(destination) ?? []) {
      if (wanted <= 0) break;
      const start = startOfLook(head, nowMs);
      const rows = await dueColumns.all(
        queries,
        `select ${dueColumns.list} from queue where entity_id = $1 and webhook_no = $2 and lease_ms <= $8
           and (generation, due_ms) >= ($6, $7) and (generation, due_ms) <= ($4, $5)
         order by generation, due_ms limit $3`,
        [head.entity, head.webhookNo, wanted, head.generation, nowMs, start.generation, start.dueMs, endedByMs],
      );
      for (const chunk of powersOfTwo(rows)) {
        const lease = [nowMs + leaseMs, leaseSeconds(leaseMs)];
        await queries.run(claimText(chunk.length), [head.entity, ...lease, ...chunk.map(({ id }) => id)]);
      }
      for (const row of rows) claimed.push(Object.assign(row, { destination, token: row.token + 1 }));
      wanted -= rows.length;
    }
  }
  return claimed;
}
