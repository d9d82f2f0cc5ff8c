import type { Dialect, Queries } from '../../database/database.ts';
import type { SourceKey } from '../network-store.ts';

/**
 * | paused by | resumed by                                                                    |
 * |-----------|-------------------------------------------------------------------------------|
 * | a request | a request                                                                     |
 * | a flood   | a request, or the first poll after 1, 2, 4 … 60 minutes: twice the last wait |
 *
 * The wait is a minute again if the source was read for an hour without a flood. The source continues after the last block
 * that was final when it was paused, so that it misses no payment of the pause.
 */

const FIRST_WAIT_MS = 60_000;
const MAX_WAIT_MS = 3_600_000;
const PAUSED_BY_REQUEST = 'It was paused by a request.';

/** The newest block whose facts are stored and cannot change, for a source that is paused now; null before the first poll. */
const PAUSED_BLOCK = `(select coalesce(c.read_final, c.final, (select min(a.number) from chain_anchors a where a.network_id = c.network_id))
   from chains c where c.network_id = sources.network_id)`;

/**
 * The block at which a resumed source continues. Older blocks that were unread at the pause come first. A source that no poll has
 * seen begins at its first block.
 */
const NEXT_BLOCK = `case when next_block is null or paused_block is null then next_block
  when next_block <= paused_block and (last_block is null or next_block <= last_block) then next_block
  else paused_block + 1 end`;
const RESUMED = `paused_at_ms = null, paused_reason = null, paused_by = null, paused_block = null, last_block = null,
  unread_revision = 0, next_block = ${NEXT_BLOCK}`;

/** A source that a flood has paused stays paused, and keeps the block at which it continues. */
export async function pauseByRequest(queries: Queries, source: SourceKey, nowMs: number): Promise<void> {
  await queries.run(
    `update sources set paused_at_ms = $3, paused_reason = $4, paused_by = 'request', retry_at_ms = null, retry_wait_ms = null,
       paused_block = case when paused_by is null then ${PAUSED_BLOCK} else paused_block end
     where entity_id = $1 and id = $2`,
    [source.entityId, source.sourceId, nowMs, PAUSED_BY_REQUEST],
  );
}

export async function resumeByRequest(queries: Queries, { entityId, sourceId }: SourceKey): Promise<void> {
  await queries.run(
    `update sources set ${RESUMED}, retry_at_ms = null, retry_wait_ms = null where entity_id = $1 and id = $2`,
    [entityId, sourceId],
  );
}

/** Returns when the source is tried again, and whether this is its first pause; null if the source is paused already. */
export async function pauseByFlood(
  queries: Queries,
  { entityId, sourceId }: SourceKey,
  reason: string,
  nowMs: number,
): Promise<{ readonly retryAtMs: number; readonly isFirst: boolean } | null> {
  const row = await queries.get<Record<'retry_at_ms' | 'retry_wait_ms', number | string | null>>(
    'select retry_at_ms, retry_wait_ms from sources where entity_id = $1 and id = $2 and paused_at_ms is null',
    [entityId, sourceId],
  );
  if (row === undefined) return null;
  const isFirst = row.retry_at_ms === null || nowMs - Number(row.retry_at_ms) > MAX_WAIT_MS;
  const waitMs = isFirst ? FIRST_WAIT_MS : Math.min(2 * Number(row.retry_wait_ms), MAX_WAIT_MS);
  await queries.run(
    `update sources set paused_at_ms = $3, paused_reason = $4, paused_by = 'flood', paused_block = ${PAUSED_BLOCK},
       retry_at_ms = $5, retry_wait_ms = $6
     where entity_id = $1 and id = $2`,
    [entityId, sourceId, nowMs, reason, nowMs + waitMs, waitMs],
  );
  return { retryAtMs: nowMs + waitMs, isFirst };
}

/**
 * Resumes sources whose wait after a flood is over. Runs in the transaction that takes the network's lease. A wait of more than an
 * hour counts as over too: it was set before the clock was set back.
 */
export async function retryFlooded(queries: Queries, { nowMs }: Dialect, networkId: number): Promise<void> {
  await queries.run(
    `update sources set ${RESUMED} where network_id = $1 and paused_by = 'flood'
       and (retry_at_ms <= ${nowMs} or retry_at_ms > ${nowMs} + ${MAX_WAIT_MS})`,
    [networkId],
  );
}
