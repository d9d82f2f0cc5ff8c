import type { DeliveryStatus } from '../../domain/attempt.ts';
import { BLOCKED } from './heads.ts';

/**
 * The states of a delivery. A row is in `queue` while another attempt will follow, and in `deliveries` once the
 * delivery is complete. `queue` stores no status: the head of the webhook's queue decides it for all rows at once.
 *
 * | state     | where it is                                            | leaves it by                                    |
 * |-----------|--------------------------------------------------------|-------------------------------------------------|
 * | pending   | queue, no attempt yet, head not blocked                | claim → recordAttempts                          |
 * | retrying  | queue, some attempt failed, head not blocked           | claim → recordAttempts                          |
 * | held      | queue, head suspended or paused                        | resume (heads.ts): pending or retrying          |
 * | cancelled | queue, head deleted, until its task has recorded it    | cancelStep (cancel.ts): recorded                |
 * | delivered | deliveries; or queue with `recorded` while sent again  | redeliver (redeliver.ts) → recordAttempts        |
 * | failed    | likewise                                               | likewise; a success makes it delivered          |
 * | cancelled | likewise                                               | likewise; an attempt under way may deliver it   |
 * | superseded| likewise                                               | likewise                                        |
 *
 * | statement                        | transition                                                                  |
 * |----------------------------------|-----------------------------------------------------------------------------|
 * | acceptEvents (events/accept.ts)  | – → queue, with a lease if this process dispatches it                       |
 * | takeTurns (events/order.ts)      | queue → deliveries as superseded, by an event that replaces it              |
 * | settleKeys (order-keys.ts)       | parked → can be claimed, when the one before it in its order key has ended  |
 * | fanOutStep (fan-out.ts)          | – → queue, the remaining deliveries of an event with many receivers         |
 * | claimDeliveries (claim.ts)       | sets the lease and raises the token; returnClaims ends the lease            |
 * | recordAttempts                   | success: queue → deliveries. Failure: due again, or queue → deliveries      |
 * | changeHeads (heads.ts)           | suspend, resume, move, remove: one row, no delivery is touched              |
 * | cancelStep (cancel.ts)           | queue → deliveries as cancelled, a bounded step at a time                   |
 * | redeliver (redeliver.ts)         | deliveries → queue with `recorded`; or one more request of a waiting one    |
 * | prune (retention.ts)             | deliveries → –                                                              |
 */

/** For a row of `queue`: whether its receiver may have the delivery, from a request or from the feed. */
export const MAY_BE_RECEIVED = 'case when may_be_received = 1 or is_shown = 1 then 1 else 0 end';

/** For the row of a completed delivery: whether its receiver may have it, although no attempt was recorded. */
export const WITHOUT_ATTEMPT = `case when attempts = 0 and ${MAY_BE_RECEIVED} = 1 then 1 end`;

/** The codes that `deliveries.status` and `queue.recorded` store. */
export const STATUS_CODES = { delivered: 1, failed: 2, cancelled: 3, superseded: 4 } as const;

export type RecordedStatus = keyof typeof STATUS_CODES;

const RECORDED = Object.keys(STATUS_CODES) as RecordedStatus[];

export function statusOfCode(code: number): RecordedStatus {
  const status = RECORDED.find((name) => STATUS_CODES[name] === code);
  if (status === undefined) throw new RangeError(`no delivery has the status ${code}`);
  return status;
}

/** The status that a row of `queue` shows. */
export function statusInQueue(recorded: number | null, attempts: number, blocked: number): DeliveryStatus {
  if (recorded !== null) return statusOfCode(recorded);
  if ((blocked & BLOCKED.deleted) !== 0) return 'cancelled';
  if (blocked !== 0) return 'held';
  return attempts > 0 ? 'retrying' : 'pending';
}
