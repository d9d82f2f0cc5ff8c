import type { DeliveryStatus } from '../../../domain/attempt.ts';
import type { Queries, SqlInteger, SqlUuid } from '../../database/database.ts';
import { BLOCKED } from '../heads.ts';

/** What waits for each webhook of an entity that has anything waiting, by the counters. */

export type WaitingOfWebhook = {
  readonly webhookNo: number;
  readonly blocked: number;
  readonly waiting: number;
  readonly retrying: number;
};

export async function readWaiting(queries: Pick<Queries, 'all'>, entity: SqlUuid): Promise<WaitingOfWebhook[]> {
  const rows = await queries.all<{
    webhook_no: SqlInteger;
    blocked: SqlInteger;
    waiting: SqlInteger;
    retrying: SqlInteger;
  }>(
    `select c.webhook_no, h.blocked, sum(c.waiting) as waiting, sum(c.retrying) as retrying
     from queue_counts c join queue_heads h on h.entity_id = c.entity_id and h.webhook_no = c.webhook_no
     where c.entity_id = $1 group by c.webhook_no, h.blocked having sum(c.waiting) <> 0`,
    [entity],
  );
  return rows.map((row) => ({
    webhookNo: Number(row.webhook_no),
    blocked: Number(row.blocked),
    waiting: Number(row.waiting),
    retrying: Number(row.retrying),
  }));
}

/** The same three as SQL over `queue_heads`. */
export const HEAD_CONDITIONS = {
  open: 'blocked = 0',
  held: `blocked <> 0 and (blocked & ${BLOCKED.deleted}) = 0`,
  deleted: `(blocked & ${BLOCKED.deleted}) <> 0`,
  blocked: 'blocked <> 0',
} as const;

export const isOpen = ({ blocked }: { blocked: number }) => blocked === 0;
export const isDeleted = ({ blocked }: { blocked: number }) => (blocked & BLOCKED.deleted) !== 0;
export const isHeld = (head: { blocked: number }) => !isOpen(head) && !isDeleted(head);

/** How many of the deliveries that wait for a webhook have the status, as `statusInQueue` derives it. */
export function countWithStatus(webhook: WaitingOfWebhook, status: DeliveryStatus): number {
  const { waiting, retrying } = webhook;
  if (status === 'pending') return isOpen(webhook) ? waiting - retrying : 0;
  if (status === 'retrying') return isOpen(webhook) ? retrying : 0;
  if (status === 'held') return isHeld(webhook) ? waiting : 0;
  if (status === 'cancelled') return isDeleted(webhook) ? waiting : 0;
  return 0;
}
