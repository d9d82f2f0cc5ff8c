import { type DestinationKey, destinationKey } from '../../domain/destination.ts';
import type { Database, Queries, SqlValue } from '../database/database.ts';
import { chunks, Parameters } from '../database/sql.ts';
import { deliveryTable } from '../tables.ts';
import { dueUnclaimed } from './claim.ts';
import type { Claimed } from './claimed.ts';

/**
 * The states of a delivery row, and the statement that makes each transition.
 *
 *   status     due_ms           meaning
 *   pending    set              no attempt was made yet
 *   retrying   set              an attempt failed, and another one follows
 *   held       null             the webhook is suspended
 *   delivered  null, see below  the receiver responded with a 2xx
 *   failed     null, see below  the last attempt of the schedule failed
 *   cancelled  null             the webhook was deleted
 *
 * `due_ms` is when the row may be claimed: its next attempt, or the end of the lease while `claimed` is 1. So an expired
 * lease needs no transition of its own. `redeliver` counts requested redeliveries; while it is above 0, `due_ms` is set
 * in a completed state too. `claim_token` rises with every claim, and a statement for a claimed row compares it.
 *
 *   from                     to                           by
 *   no row                   pending, held                acceptEvents (events/accept.ts)
 *   no row                   pending and claimed          acceptEvents with direct dispatch
 *   no row                   pending                      queueSuspendedAlert (tests-and-alerts.ts)
 *   no row                   delivered, failed            recordTest (tests-and-alerts.ts)
 *   due                      claimed                      claimDue (claim.ts)
 *   claimed                  due                          returnClaims, releaseAllLeases (claim.ts)
 *   claimed                  due at another destination   redirectClaimed (here)
 *   claimed                  retrying, delivered, failed  recordAttempts (record-attempts.ts)
 *   claimed for redelivery   delivered, or as before      recordAttempts (record-attempts.ts)
 *   claimed                  held, cancelled              parkClaimed (here)
 *   pending, retrying        held                         holdWaiting (here)
 *   held                     pending, retrying            releaseHeld (here)
 *   pending, retrying, held  cancelled                    cancelWaiting (here)
 *   pending, retrying, held  due at another destination   redirectWaiting (here)
 *   any                      due, with redeliver + 1      redeliver, continueRedelivery (redeliver.ts)
 *   due too late             due earlier                  bringForward (clock-step.ts)
 *   completed and old        no row                       prune (retention.ts)
 */

/** Not completed: an attempt follows, or would if the webhook were not suspended. */
export const WAITING = `status in ('pending', 'retrying', 'held')`;

/** Completed, with no redelivery requested. */
export const COMPLETED = `status in ('delivered', 'failed', 'cancelled') and due_ms is null`;

const ROWS_PER_TRANSACTION = 1_000;
/** Recording an attempt takes milliseconds, so a row that is still locked after this many passes has another problem. */
const MAX_PASSES = 20;
const PASS_PAUSE_MS = 10;

/** When webhooks are deleted: their deliveries are not sent any more. */
export function cancelWaiting(db: Database, entityId: string, webhookIds: readonly string[]): Promise<void> {
  return changeWaiting(db, entityId, webhookIds, {
    set: () => `status = 'cancelled', due_ms = null, next_attempt_ms = null`,
    where: () => WAITING,
  });
}

/** When webhooks get another URL: their deliveries wait for a slot at the new destination. */
export function redirectWaiting(
  db: Database,
  entityId: string,
  webhookIds: readonly string[],
  postUrl: string,
): Promise<void> {
  const destination = destinationKey(entityId, postUrl);
  return changeWaiting(db, entityId, webhookIds, {
    set: (bind) => `destination = ${bind(destination)}`,
    where: (bind) => `${WAITING} and destination <> ${bind(destination)}`,
  });
}

/** When a webhook is suspended. */
export function holdWaiting(db: Database, entityId: string, webhookId: string): Promise<void> {
  return changeWaiting(db, entityId, [webhookId], {
    set: () => `status = 'held', due_ms = null, next_attempt_ms = null`,
    where: () => `status in ('pending', 'retrying')`,
  });
}

/** When a webhook is resumed. The schedule starts again: the attempts before say nothing about the receiver now. */
export function releaseHeld(db: Database, entityId: string, webhookId: string, postUrl: string): Promise<void> {
  const { nowMs } = db.dialect;
  return changeWaiting(db, entityId, [webhookId], {
    set: (bind) => `status = case when attempts > 0 then 'retrying' else 'pending' end, steps = 0,
      destination = ${bind(destinationKey(entityId, postUrl))}, due_ms = ${nowMs}, next_attempt_ms = ${nowMs}`,
    where: () => `status = 'held'`,
  });
}

/** Each part binds its own values. */
type Part = (bind: (value: SqlValue) => string) => string;

/**
 * Changes a bounded number of rows in each transaction until none is left, so that a long backlog blocks no other write.
 * Rows that are locked are skipped, because waiting for them could end in a deadlock, and are changed by a later pass: a
 * held row that is missed would never be claimed. Every other row that is missed is corrected when it is claimed, since
 * a claim looks at the webhook as it is then.
 */
async function changeWaiting(
  db: Database,
  entityId: string,
  webhookIds: readonly string[],
  { set, where }: { set: Part; where: Part },
): Promise<void> {
  for (const chunk of chunks(webhookIds)) {
    const waiting = (parameters: Parameters) => {
      const ofWebhooks = deliveryTable.where(parameters, { entityId, webhookId: chunk });
      return `select id from deliveries where ${ofWebhooks} and kind <> 'alert' and ${where((value) => parameters.bind(value))}`;
    };
    const step = () => {
      const parameters = new Parameters(entityId);
      // Materialized, or PostgreSQL may run the inner select once for each row and exceed the limit.
      const sql = `with part as materialized (
          ${waiting(parameters)} limit ${ROWS_PER_TRANSACTION} ${db.dialect.skipLocked})
        update deliveries set ${set((value) => parameters.bind(value))}
        where entity_id = $1 and id in (select id from part)`;
      return db.transaction((queries) => queries.run(sql, parameters.values));
    };
    const left = new Parameters();
    const anyLeft = `${waiting(left)} limit 1`;
    for (let pass = 0; pass < MAX_PASSES; pass++) {
      while ((await step()) === ROWS_PER_TRANSACTION);
      if ((await db.get(anyLeft, left.values)) === undefined) break;
      await Bun.sleep(PASS_PAUSE_MS);
    }
  }
}

/** A claimed delivery whose webhook was deleted or suspended: it is not sent, and no attempt is counted. */
export async function parkClaimed(queries: Queries, claimed: Claimed, status: 'cancelled' | 'held'): Promise<void> {
  await queries.run(
    `update deliveries set claimed = 0, redeliver = 0, due_ms = null, next_attempt_ms = null,
       status = case when ${WAITING} then $4 else status end
     where entity_id = $1 and id = $2 and claim_token = $3`,
    [claimed.entityId, claimed.deliveryId, claimed.token, status],
  );
}

/** A claimed delivery whose webhook has another URL: due again at once, at its new destination. */
export async function redirectClaimed(
  db: Database,
  queries: Queries,
  claimed: Claimed,
  destination: DestinationKey,
): Promise<void> {
  await queries.run(
    `update deliveries set claimed = 0, destination = $4, due_ms = ${dueUnclaimed(db.dialect)}
     where entity_id = $1 and id = $2 and claim_token = $3 and due_ms is not null`,
    [claimed.entityId, claimed.deliveryId, claimed.token, destination],
  );
}
