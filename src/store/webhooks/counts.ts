import { MAX_WEBHOOKS_PER_CELL } from '../../contract/webhooks/limits.ts';
import type { NetworkEvent } from '../../contract/webhooks.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Queries } from '../database/database.ts';
import { chunks, type RowOf } from '../database/sql.ts';
import { webhookCountTable } from '../tables.ts';
import { countMatches } from './list.ts';

/** The counters behind every total, kept in the transaction that changes the webhooks, under the entity lock. */

export type Limits = { entityWebhookLimit: number };

const CELL = webhookCountTable.pick(['networkId', 'event', 'webhooks']);
export type CellCount = RowOf<typeof CELL>;

const NEW_COUNT = webhookCountTable.insertion(['entityId', 'networkId', 'event', 'webhooks']);

export function once(cell: NetworkEvent): CellCount {
  return { ...cell, webhooks: 1 };
}

/** Each cell may be named only once: PostgreSQL rejects an upsert that meets one row twice. */
export async function raiseCounts(queries: Queries, entityId: string, cells: readonly CellCount[]): Promise<void> {
  for (const chunk of chunks(cells)) {
    const raised = await CELL.all(
      queries,
      `${NEW_COUNT.text(chunk.length)}
       on conflict (entity_id, network_id, event) do update set webhooks = webhook_counts.webhooks + excluded.webhooks
       returning ${CELL.list}`,
      NEW_COUNT.parameters(chunk.map((cell) => ({ entityId, ...cell }))),
    );
    const full = raised.find(({ webhooks }) => webhooks > MAX_WEBHOOKS_PER_CELL);
    if (full === undefined) continue;
    const { networkId, event } = full;
    throw new DomainError('cell_full', { networkId, event, limit: MAX_WEBHOOKS_PER_CELL });
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
