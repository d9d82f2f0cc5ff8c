import type { NextState, Outcome } from '../../../domain/attempt.ts';
import type { Dialect, Queries, SqlValue } from '../../database/database.ts';
import { Columns, deliveryKey, integer, textByRows, uuid, valuesList } from '../../database/sql.ts';
import type { Claimed } from '../claim/claimed.ts';
import { type CountChanges, STORED_BYTES } from '../counts/counts.ts';
import type { Wake } from '../heads.ts';

/** One attempt: the delivery as it was claimed, the outcome of the request, and the next state of the delivery. */
export type AttemptRecord = {
  delivery: Claimed;
  startedAtMs: number;
  outcome: Outcome;
  next: NextState;
};

/**
 * Splits attempts into parts with at most one attempt of each delivery, earlier claims first. Usually there is one part. A batch
 * can also have the next attempt of a delivery, if the commit of an attempt went unanswered or the lease ended during the
 * attempt.
 */
export function onceEach(made: readonly AttemptRecord[]): (readonly AttemptRecord[])[] {
  const ids = new Set<string>();
  for (const { delivery } of made) ids.add(delivery.deliveryId);
  if (ids.size === made.length) return [made];
  const byDelivery = Map.groupBy(made, ({ delivery }) => delivery.deliveryId);
  const all = [...byDelivery.values()].map((some) => some.toSorted((a, b) => a.delivery.token - b.delivery.token));
  const parts = Math.max(...all.map(({ length }) => length));
  return Array.from({ length: parts }, (_, index) => all.flatMap((some) => some.slice(index, index + 1)));
}

/** One transaction that records attempts. */
export type Run = {
  readonly queries: Queries;
  readonly dialect: Dialect;
  readonly counts: CountChanges;
  readonly recorded: Set<string>;
  /** Heads to wake. All are woken together and late, because acceptances wait for the locks of heads. */
  readonly wakes: Wake[];
  readonly nowMs: number;
};

/** `sent_to_no` is set only if an attempt went to another endpoint than the one that numbered the delivery. */
export const RECORD_COLUMNS = `entity_id, id, webhook_no, endpoint_no, sent_to_no, created_at_ms, ended_at_ms, started_at_ms,
  sequence, redelivery_id, duration_ms, attempts, status, status_code, test, error, response`;

/**
 * Ignores an attempt whose number is stored already. Otherwise the conflict would prevent the recording of a success, and the
 * delivery would be sent for ever.
 */
const insertAttemptsText = textByRows(
  (rows) => `insert into attempts
      (entity_id, delivery_id, attempt, kind, post_url, started_at_ms, duration_ms, status_code, error, response,
       response_headers)
    values ${valuesList(rows, 11)} on conflict (entity_id, delivery_id, attempt) do nothing
    returning entity_id as "entity", ${STORED_BYTES.attempt} as bytes`,
);

const storedColumns = new Columns({ entity: uuid('entity_id'), bytes: integer() });

export async function insertAttempts(
  { queries, dialect, counts }: Pick<Run, 'queries' | 'dialect' | 'counts'>,
  made: readonly AttemptRecord[],
): Promise<void> {
  const values = made.flatMap(({ delivery, startedAtMs, outcome }): SqlValue[] => [
    ...deliveryKey(dialect, delivery),
    delivery.attempts + 1,
    delivery.kind,
    delivery.postUrl,
    startedAtMs,
    Math.round(outcome.durationMs),
    outcome.kind === 'response' ? outcome.statusCode : null,
    outcome.kind === 'error' ? outcome.error : null,
    outcome.kind === 'response' ? outcome.body : null,
    outcome.kind === 'response' ? (outcome.headers ?? null) : null,
  ]);
  const rows = await storedColumns.all(queries, insertAttemptsText(made.length), values);
  for (const { entity, bytes } of rows) counts.stored(entity, bytes);
}
