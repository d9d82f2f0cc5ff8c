import { RETRACTION } from '../../domain/event-kinds.ts';
import type { Dialect, Queries, SqlValue } from '../database/database.ts';
import { Columns, chunks, entityKey, integer, uuid, valuesList } from '../database/sql.ts';

/**
 * A webhook's retractions have a separate queue, so that lists and totals can distinguish them from the webhook's
 * events. The head of that queue follows every change of the webhook's head.
 */

/** Heads of retractions have numbers from here on: far above every creation sequence, and still exact. */
export const RETRACTIONS_FROM = 2 ** 52;

export function retractionHeadNo(webhookNo: number): number {
  return RETRACTIONS_FROM + webhookNo;
}

/** The webhook whose events or retractions have this head. */
export function webhookOfHead(headNo: number): number {
  return headNo >= RETRACTIONS_FROM ? headNo - RETRACTIONS_FROM : headNo;
}

const headColumns = new Columns({ entity: uuid('entity_id'), webhookNo: integer('webhook_no') });

type Target = { readonly entityId: string; readonly webhookNo: number; readonly event: string };

/** The heads of retractions to these webhooks; most webhooks have none. */
export async function findRetractionHeads<Head extends Target>(
  queries: Queries,
  dialect: Dialect,
  targets: readonly Head[],
): Promise<Head[]> {
  const nameOf = (entity: string, webhookNo: number) => `${entity} ${webhookNo}`;
  const wanted = new Map(
    targets.map((target) => {
      const entity = entityKey(dialect, target.entityId);
      const head = { ...target, webhookNo: retractionHeadNo(target.webhookNo), event: RETRACTION };
      return [nameOf(dialect.hexOf(entity), head.webhookNo), { entity, head }];
    }),
  );
  const found: Head[] = [];
  for (const chunk of chunks([...wanted.values()])) {
    const rows = await headColumns.all(
      queries,
      `with wanted (entity_id, webhook_no) as (values ${valuesList(chunk.length, 2, 0, [dialect.uuid, 'bigint'])})
       select ${headColumns.of('h.')} from wanted w
       ${dialect.lookUp('cross join', 'queue_heads', 'h', { entity_id: 'w.entity_id', webhook_no: 'w.webhook_no' })}`,
      chunk.flatMap(({ entity, head }): SqlValue[] => [entity, head.webhookNo]),
    );
    for (const { entity, webhookNo } of rows) {
      const known = wanted.get(nameOf(dialect.hexOf(entity), webhookNo));
      if (known !== undefined) found.push(known.head);
    }
  }
  return found;
}
