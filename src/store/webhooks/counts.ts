import { MAX_WEBHOOKS_PER_CELL, type NetworkEvent } from '../../contract/webhooks.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Queries, SqlInteger } from '../database/database.ts';
import { chunks, valuesList } from '../database/sql.ts';
import { countMatches } from './list.ts';

/** The counters behind every total, kept in the transaction that changes the webhooks, under the entity's lock. */

export type Limits = { entityWebhookLimit: number };
export type CellCount = NetworkEvent & { webhooks: number };

export function once(cell: NetworkEvent): CellCount {
  return { ...cell, webhooks: 1 };
}

/** Each cell may be named only once: PostgreSQL refuses an upsert that meets one row twice. */
export async function raiseCounts(queries: Queries, entityId: string, cells: readonly CellCount[]): Promise<void> {
  for (const chunk of chunks(cells)) {
    const rows = await queries.all<{ network_id: SqlInteger; event: string; webhooks: SqlInteger }>(
      `insert into webhook_counts (entity_id, network_id, event, webhooks) values ${valuesList(chunk.length, 4)}
       on conflict (entity_id, network_id, event) do update set webhooks = webhook_counts.webhooks + excluded.webhooks
       returning network_id, event, webhooks`,
      chunk.flatMap(({ networkId, event, webhooks }) => [entityId, networkId, event, webhooks]),
    );
    const full = rows.find((row) => Number(row.webhooks) > MAX_WEBHOOKS_PER_CELL);
    if (full === undefined) continue;
    const { network_id, event } = full;
    throw new DomainError('cell_full', { networkId: Number(network_id), event, limit: MAX_WEBHOOKS_PER_CELL });
  }
}

export async function checkEntityLimit(queries: Queries, entityId: string, limit: number): Promise<void> {
  const webhooks = await countMatches(queries, entityId, {});
  if (webhooks > limit) throw new DomainError('entity_full', { webhooks, limit });
}

export async function removeFromCounts(
  queries: Queries,
  entityId: string,
  removed: readonly NetworkEvent[],
): Promise<void> {
  const cells = Map.groupBy(removed, ({ networkId, event }) => `${networkId} ${event}`);
  for (const [first, ...others] of cells.values()) {
    if (first === undefined) continue;
    await queries.run(
      `update webhook_counts set webhooks = webhooks - $4
       where entity_id = $1 and network_id = $2 and event = $3`,
      [entityId, first.networkId, first.event, 1 + others.length],
    );
  }
  await queries.run('delete from webhook_counts where entity_id = $1 and webhooks = 0', [entityId]);
}
