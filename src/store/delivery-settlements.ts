import type { Settlement } from '../domain/deliveries.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { Claimed } from './claimed.ts';
import type { Dialect, Queries } from './database.ts';
import { chunks, valuesList } from './values.ts';

/** An attempt that was made, and what becomes of its delivery. */
export type MadeAttempt = {
  claimed: Claimed;
  settlement: Settlement;
  postUrl: string;
  startedAtMs: number;
  outcome: Outcome;
};

/**
 * Writes many settlements in one transaction: each takes effect only where the claim is still ours, and only then is
 * its attempt logged. One whose commit went unanswered and is tried again finds its attempt counted, and has no effect
 * either. Answers the ids that took effect. A delivery that was cancelled or held meanwhile stays so,
 * unless the receiver has it: that is a fact by now. After a redelivery the schedule goes on where it was.
 */
export async function settleAttempts(
  queries: Queries,
  dialect: Dialect,
  made: readonly MadeAttempt[],
): Promise<Set<string>> {
  const settled = new Set<string>();
  for (const chunk of chunks(made)) {
    for (const id of await updateDeliveries(queries, dialect, chunk)) settled.add(id);
    const logged = chunk.filter(({ claimed }) => settled.has(claimed.deliveryId));
    if (logged.length > 0) await insertAttempts(queries, logged);
  }
  return settled;
}

const UPDATE_TYPES = ['text', 'text', 'bigint', 'bigint', 'text', 'text', 'bigint', 'bigint', 'text', 'bigint', 'text'];

async function updateDeliveries(queries: Queries, dialect: Dialect, made: readonly MadeAttempt[]): Promise<string[]> {
  const { nowMs } = dialect;
  const redeliver = `(deliveries.redeliver - case when made.kind = 'redelivery' then 1 else 0 end)`;
  const next = `case when due_ms is null or made.status = 'delivered' then null
                     when made.kind = 'redelivery' then next_attempt_ms
                     else ${nowMs} + made.delay_ms end`;
  const rows = await queries.all<{ id: string }>(
    `with made (entity_id, id, token, attempts, kind, status, steps, delay_ms, post_url, status_code, error) as
       (values ${valuesList(made.length, UPDATE_TYPES.length, 0, UPDATE_TYPES)})
     update deliveries set
       claimed = 0,
       attempts = deliveries.attempts + 1,
       steps = made.steps,
       redeliver = ${redeliver},
       post_url = made.post_url,
       last_status_code = made.status_code,
       last_error = made.error,
       status = case when made.status = 'delivered' or due_ms is not null then made.status else deliveries.status end,
       delivered_at_ms = case when made.status = 'delivered'
         then coalesce(delivered_at_ms, ${nowMs}) else delivered_at_ms end,
       next_attempt_ms = ${next},
       due_ms = case when due_ms is not null and ${redeliver} > 0 then ${nowMs} else ${next} end
     from made
     where deliveries.entity_id = made.entity_id and deliveries.id = made.id and deliveries.claim_token = made.token
       and deliveries.attempts = made.attempts
     returning deliveries.id`,
    made.flatMap(({ claimed, settlement, postUrl, outcome }) => [
      claimed.entityId,
      claimed.deliveryId,
      claimed.token,
      claimed.attempts,
      claimed.kind,
      settlement.status,
      settlement.steps,
      settlement.delayMs,
      postUrl,
      outcome.kind === 'answered' ? outcome.statusCode : null,
      outcome.kind === 'error' ? outcome.error : null,
    ]),
  );
  return rows.map(({ id }) => id);
}

/** A log that does not fit its delivery must not keep what the receiver has from being settled: it would be sent for ever. */
const KEEP_WHAT_IS_LOGGED = 'on conflict (entity_id, delivery_id, attempt) do nothing';

export async function insertAttempts(queries: Queries, made: readonly MadeAttempt[]): Promise<void> {
  await queries.run(
    `insert into attempts
       (entity_id, delivery_id, attempt, kind, post_url, started_at_ms, duration_ms, status_code, error, response)
     values ${valuesList(made.length, 10)} ${KEEP_WHAT_IS_LOGGED}`,
    made.flatMap(({ claimed, postUrl, startedAtMs, outcome }) => [
      claimed.entityId,
      claimed.deliveryId,
      claimed.attempts + 1,
      claimed.kind,
      postUrl,
      startedAtMs,
      Math.round(outcome.durationMs),
      outcome.kind === 'answered' ? outcome.statusCode : null,
      outcome.kind === 'error' ? outcome.error : null,
      outcome.kind === 'answered' ? outcome.response : null,
    ]),
  );
}
