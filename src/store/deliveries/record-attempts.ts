import type { NextState, Outcome } from '../../domain/attempt.ts';
import type { Dialect, Queries } from '../database/database.ts';
import { chunks, textByRows, valuesList } from '../database/sql.ts';
import type { Sendable } from './claimed.ts';

/** One attempt: the delivery as it was claimed, what the request came to, and what the delivery does next. */
export type AttemptRecord = {
  delivery: Sendable;
  startedAtMs: number;
  outcome: Outcome;
  next: NextState;
};

/**
 * Records many attempts in one transaction: each takes effect only where the claim is still ours, and only then is the
 * attempt logged. When a commit got no response and is repeated, the attempts are counted already and nothing changes.
 * Returns the ids of the deliveries whose attempts are recorded now. A delivery that was cancelled or held meanwhile stays
 * so, unless the receiver has accepted it. After a redelivery, the schedule continues where it was.
 */
export async function recordAttempts(
  queries: Queries,
  dialect: Dialect,
  made: readonly AttemptRecord[],
): Promise<Set<string>> {
  const recorded = new Set<string>();
  for (const chunk of chunks(made)) {
    const changed = await updateDeliveries(queries, dialect, chunk);
    const logged = changed === chunk.length ? chunk : await findRecorded(queries, chunk);
    for (const { delivery } of logged) recorded.add(delivery.deliveryId);
    if (logged.length > 0) await insertAttempts(queries, logged);
  }
  return recorded;
}

const UPDATE_TYPES = ['text', 'text', 'bigint', 'bigint', 'text', 'text', 'bigint', 'bigint', 'text', 'bigint', 'text'];

const updateText = (nowMs: string) =>
  textByRows((rows) => {
    const redeliver = `(deliveries.redeliver - case when made.kind = 'redelivery' then 1 else 0 end)`;
    const next = `case when due_ms is null or made.status = 'delivered' then null
                       when made.kind = 'redelivery' then next_attempt_ms
                       else ${nowMs} + made.delay_ms end`;
    return `with made (entity_id, id, token, attempts, kind, status, steps, delay_ms, post_url, status_code, error) as
        (values ${valuesList(rows, UPDATE_TYPES.length, 0, UPDATE_TYPES)})
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
        and deliveries.attempts = made.attempts`;
  });
/** By the dialect's expression for the current time. */
const updateTexts = new Map<string, (rows: number) => string>();

/** Returns how many took effect: mostly all, and then no second statement has to find out which. */
function updateDeliveries(queries: Queries, { nowMs }: Dialect, made: readonly AttemptRecord[]): Promise<number> {
  const text = updateTexts.get(nowMs) ?? updateText(nowMs);
  updateTexts.set(nowMs, text);
  return queries.run(
    text(made.length),
    made.flatMap(({ delivery, next, outcome }) => [
      delivery.entityId,
      delivery.deliveryId,
      delivery.token,
      delivery.attempts,
      delivery.kind,
      next.status,
      next.steps,
      next.delayMs,
      delivery.postUrl,
      outcome.kind === 'response' ? outcome.statusCode : null,
      outcome.kind === 'error' ? outcome.error : null,
    ]),
  );
}

/** Those whose claim is still ours and whose attempt is counted. */
async function findRecorded(queries: Queries, made: readonly AttemptRecord[]): Promise<AttemptRecord[]> {
  const rows = await queries.all<{ id: string }>(
    `with made (entity_id, id, token, attempts) as
       (values ${valuesList(made.length, 4, 0, ['text', 'text', 'bigint', 'bigint'])})
     select d.id from made cross join deliveries d
     where d.entity_id = made.entity_id and d.id = made.id and d.claim_token = made.token
       and d.attempts = made.attempts + 1`,
    made.flatMap(({ delivery }) => [delivery.entityId, delivery.deliveryId, delivery.token, delivery.attempts]),
  );
  const recorded = new Set(rows.map(({ id }) => id));
  return made.filter(({ delivery }) => recorded.has(delivery.deliveryId));
}

/** A conflict in the log must not keep a delivered delivery from being recorded: it would be sent for ever. */
const KEEP_LOGGED = 'on conflict (entity_id, delivery_id, attempt) do nothing';

/** Written out by hand, like the rows of acceptance, because every attempt passes here. */
const insertAttemptsText = textByRows(
  (rows) => `insert into attempts
      (entity_id, delivery_id, attempt, kind, post_url, started_at_ms, duration_ms, status_code, error, response)
    values ${valuesList(rows, 10)} ${KEEP_LOGGED}`,
);

export async function insertAttempts(queries: Queries, made: readonly AttemptRecord[]): Promise<void> {
  await queries.run(
    insertAttemptsText(made.length),
    made.flatMap(({ delivery, startedAtMs, outcome }) => [
      delivery.entityId,
      delivery.deliveryId,
      delivery.attempts + 1,
      delivery.kind,
      delivery.postUrl,
      startedAtMs,
      Math.round(outcome.durationMs),
      outcome.kind === 'response' ? outcome.statusCode : null,
      outcome.kind === 'error' ? outcome.error : null,
      outcome.kind === 'response' ? outcome.body : null,
    ]),
  );
}
