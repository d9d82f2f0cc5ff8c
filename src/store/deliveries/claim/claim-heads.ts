import type { DestinationKey } from '../../../domain/post-url.ts';
import type { Dialect, Queries } from '../../database/database.ts';
import { Columns, chunks, integer, nullable, type RowOf, text, uuid, valuesList } from '../../database/sql.ts';

/** The heads of the webhooks that a claim is for. */

const headColumns = new Columns({
  entity: uuid('entity_id'),
  webhookNo: integer('webhook_no'),
  webhookId: text('webhook_id'),
  endpointNo: integer('endpoint_no'),
  destination: text<DestinationKey>('destination'),
  postUrl: text('post_url'),
  generation: integer('generation'),
  nextDueMs: integer('next_due_ms'),
  fromDueMs: integer('from_due_ms'),
  idle: integer('idle'),
  failingSinceMs: nullable(integer('failing_since_ms')),
});

export type Head = RowOf<typeof headColumns>;

/** Not `blocked = 0`: PostgreSQL would take the index of what is due, which has every open head, for the right one. */
export const IS_OPEN = 'blocked + 0 = 0';

export async function readHeads(
  queries: Queries,
  { hexOf }: Dialect,
  destinations: readonly DestinationKey[],
): Promise<Head[]> {
  const heads: Head[] = [];
  for (const chunk of chunks(destinations)) {
    const found = await headColumns.all(
      queries,
      `select ${headColumns.list} from queue_heads where destination in ${valuesList(1, chunk.length)} and ${IS_OPEN}`,
      chunk,
    );
    heads.push(...found);
  }
  // Rows are written in one order everywhere.
  const keyOf = ({ entity }: Head) => hexOf(entity);
  return heads.sort((one, other) =>
    keyOf(one) === keyOf(other) ? one.webhookNo - other.webhookNo : keyOf(one) < keyOf(other) ? -1 : 1,
  );
}

/** The lowest generation of which rows may wait. */
export function firstGeneration({ generation, fromDueMs }: Head): number {
  return fromDueMs > 0 ? generation : 0;
}
