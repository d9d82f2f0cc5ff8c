import { type DestinationKey, entityOfDestination } from '../../../domain/post-url.ts';
import type { Dialect, Queries, SqlUuid } from '../../database/database.ts';
import {
  Columns,
  chunks,
  entityKey,
  integer,
  nullable,
  Parameters,
  type RowOf,
  text,
  uuid,
} from '../../database/sql.ts';

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
  lookFromMs: integer('look_from_ms'),
  fullLookMs: integer('full_look_ms'),
  writeCount: integer('write_count'),
  idle: integer('idle'),
  failingSinceMs: nullable(integer('failing_since_ms')),
});

export type Head = RowOf<typeof headColumns>;

/** Not `blocked = 0`: PostgreSQL would then choose the index on due times, which contains every open head. */
export const IS_OPEN = 'blocked + 0 = 0';

export async function readHeads(
  queries: Queries,
  dialect: Dialect,
  destinations: readonly DestinationKey[],
): Promise<Head[]> {
  const heads: Head[] = [];
  for (const chunk of chunks(destinations)) {
    const parameters = new Parameters(...ownerOf(dialect, chunk));
    const found = await headColumns.all(
      queries,
      `select ${headColumns.list} from queue_heads where destination in ${parameters.list(chunk)}
         and ${IS_OPEN}${dialect.ofEntity('queue_heads')}`,
      parameters.values,
    );
    heads.push(...found);
  }
  // Every statement writes heads in this order, so that two transactions never wait for each other.
  const keyOf = ({ entity }: Head) => dialect.hexOf(entity);
  return heads.sort((one, other) =>
    keyOf(one) === keyOf(other) ? one.webhookNo - other.webhookNo : keyOf(one) < keyOf(other) ? -1 : 1,
  );
}

/** The entity of the destinations if a statement is for one entity, as in a distributed database. */
export function ownerOf(dialect: Dialect, destinations: readonly DestinationKey[]): SqlUuid[] {
  const [first] = destinations;
  return !dialect.isDistributed || first === undefined ? [] : [entityKey(dialect, entityOfDestination(first))];
}

/** Claims read a head from its start this often. A wrong hint hides a row for no longer. */
export const FULL_LOOK_MS = 300_000;
/**
 * The mark of a head is its `look_from_ms`. It stays this far in the past, because an acceptance may still commit rows with an
 * earlier due time.
 */
export const UNCOMMITTED_MS = 10_000;

type Marks = Pick<Head, 'generation' | 'lookFromMs' | 'fullLookMs'>;

/**
 * Whether a claim must read the head from its start: if a full look is due, or if the clock was set back. After such a step, the
 * mark or the time of the next full look is too far in the future.
 */
export function isFullLook({ lookFromMs, fullLookMs }: Omit<Marks, 'generation'>, nowMs: number): boolean {
  return fullLookMs <= nowMs || fullLookMs > nowMs + FULL_LOOK_MS || lookFromMs > nowMs - UNCOMMITTED_MS;
}

/** `isFullLook` as SQL, for the head `h`. */
export const isFullLookSql = (now: string) =>
  `(h.full_look_ms <= ${now} or h.full_look_ms > ${now} + ${FULL_LOOK_MS} or h.look_from_ms > ${now} - ${UNCOMMITTED_MS})`;

/** The position at which a look at the head begins. Rows of older generations come before rows of the head's own generation. */
export function startOfLook(head: Marks, nowMs: number): { generation: number; dueMs: number } {
  return isFullLook(head, nowMs)
    ? { generation: 0, dueMs: 0 }
    : { generation: head.generation, dueMs: head.lookFromMs };
}
