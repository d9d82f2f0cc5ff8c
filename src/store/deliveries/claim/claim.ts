import type { DestinationKey } from '../../../domain/post-url.ts';
import type { Database, Queries, SqlValue } from '../../database/database.ts';
import { Columns, chunks, planForClaims, text, valuesList } from '../../database/sql.ts';
import { firstGeneration, type Head, IS_OPEN, readHeads } from './claim-heads.ts';
import type { Claimed } from './claimed.ts';
import { headsPastMark, postponeHeads } from './head-looks.ts';
import { type ClaimedRow, claimedColumns, loadClaimed } from './load-claimed.ts';

/**
 * Claiming due deliveries: with a lease by the database's clock, so that the work of a dead instance becomes due again by
 * itself, and a token that counts the claims, so that an instance which was only thought dead records no failure of what
 * another has claimed since. These statements are the dispatcher's own and serve all entities.
 */

export type Pick = { destination: DestinationKey; most: number };

export type ClaimResult = {
  claimed: Claimed[];
  /** Destinations that gave as many as were asked for, and so may have more. */
  mayHaveMore: DestinationKey[];
};

/** All picks in one transaction and, on PostgreSQL, one statement: with the database 10 ms away, one each never ends. */
export function claimDeliveries(db: Database, picks: readonly Pick[], leaseMs: number): Promise<ClaimResult> {
  const { dialect } = db;
  return db.transaction(async (queries) => {
    const nowMs = await planForClaims(queries, dialect);
    const together = dialect.uuid === 'uuid' ? await claimTogether(queries, picks, nowMs, leaseMs) : null;
    const destinations = picks.map(({ destination }) => destination);
    const heads = await readHeads(queries, dialect, destinations);
    const rows = together ?? (await claimEach(queries, picks, heads, nowMs, leaseMs));
    const claimed = await loadClaimed(queries, dialect, heads, rows, nowMs);
    const counts = Map.groupBy(claimed, ({ destination }) => destination);
    const isExhausted = ({ destination, most }: Pick) => (counts.get(destination)?.length ?? 0) < most;
    const exhausted = new Set(picks.filter(isExhausted).map(({ destination }) => destination));
    const unfinished = heads.filter((head) => !exhausted.has(head.destination));
    const ahead = headsPastMark(dialect, unfinished, rows, nowMs);
    const looked = heads.filter((head) => exhausted.has(head.destination) || ahead.has(head));
    await postponeHeads(queries, dialect, looked, ahead, nowMs);
    const mayHaveMore = picks.filter((pick) => !isExhausted(pick)).map(({ destination }) => destination);
    return { claimed, mayHaveMore };
  });
}

/**
 * Rows of an older generation are due at once, those of the head's own generation when their time has come. Below the mark
 * `from_due_ms` no row waits; while it is not above zero, rows of older generations may.
 */
const DUE_ROWS = `select queue.ctid as place from queue
  where queue.entity_id = h.entity_id and queue.webhook_no = h.webhook_no and queue.lease_ms <= $1
    and (queue.generation, queue.due_ms) >= (case when h.from_due_ms > 0 then h.generation else 0 end, h.from_due_ms)
    and (queue.generation, queue.due_ms) <= (h.generation, $1)
  order by queue.generation, queue.due_ms limit p.most for update skip locked`;

const togetherColumns = new Columns({ ...claimedColumns.shape, destination: text<DestinationKey>() });

async function claimTogether(
  queries: Queries,
  picks: readonly Pick[],
  nowMs: number,
  leaseMs: number,
): Promise<ClaimedRow[]> {
  const claimed: ClaimedRow[] = [];
  for (const chunk of chunks(picks)) {
    // Materialized, or PostgreSQL may run the inner select once for each row and pass the limit.
    const rows = await togetherColumns.all(
      queries,
      `with picks (destination, most) as (values ${valuesList(chunk.length, 2, 2, ['text', 'bigint'])}),
       due as materialized (
         select d.place, p.destination from picks p cross join lateral (
           select q.place from queue_heads h cross join lateral (${DUE_ROWS}) q
           where h.destination = p.destination and h.${IS_OPEN}
           limit p.most) d)
       update queue set lease_ms = $2, token = token + 1 from due where queue.ctid = due.place
       returning due.destination as "destination", ${claimedColumns.of('queue.')}`,
      [nowMs, nowMs + leaseMs, ...chunk.flatMap(({ destination, most }): SqlValue[] => [destination, most])],
    );
    claimed.push(...rows);
  }
  return claimed;
}

/** SQLite has no lateral join, and in the same process a statement costs a few microseconds. */
async function claimEach(
  queries: Queries,
  picks: readonly Pick[],
  heads: readonly Head[],
  nowMs: number,
  leaseMs: number,
): Promise<ClaimedRow[]> {
  const claimed: ClaimedRow[] = [];
  const byDestination = Map.groupBy(heads, ({ destination }) => destination);
  for (const { destination, most } of picks) {
    let wanted = most;
    for (const head of byDestination.get(destination) ?? []) {
      if (wanted <= 0) break;
      const rows = await claimedColumns.all(
        queries,
        `update queue set lease_ms = $3, token = token + 1 where entity_id = $1 and id in (
           select id from queue where entity_id = $1 and webhook_no = $2 and lease_ms <= $6
             and (generation, due_ms) >= ($7, $8) and (generation, due_ms) <= ($5, $6)
           order by generation, due_ms limit $4)
         returning ${claimedColumns.list}`,
        [
          head.entity,
          head.webhookNo,
          nowMs + leaseMs,
          wanted,
          head.generation,
          nowMs,
          firstGeneration(head),
          head.fromDueMs,
        ],
      );
      for (const row of rows) claimed.push(Object.assign(row, { destination }));
      wanted -= rows.length;
    }
  }
  return claimed;
}
