import type { DeliveryStatus } from '../../../domain/attempt.ts';
import type { Queries, SqlUuid } from '../../database/database.ts';
import { Columns, integer, type RowOf } from '../../database/sql.ts';
import { BLOCKED } from '../heads.ts';

/** Waiting deliveries of each webhook of an entity, from the counters. Webhooks without any are left out. */

const waitingColumns = new Columns({
  webhookNo: integer('c.webhook_no'),
  blocked: integer('h.blocked'),
  waiting: integer('sum(c.waiting)'),
  retrying: integer('sum(c.retrying)'),
});
export type WaitingOfWebhook = Readonly<RowOf<typeof waitingColumns>>;

export function readWaiting(queries: Pick<Queries, 'all'>, entity: SqlUuid): Promise<WaitingOfWebhook[]> {
  return waitingColumns.all(
    queries,
    `select ${waitingColumns.list}
     from queue_counts c join queue_heads h on h.entity_id = c.entity_id and h.webhook_no = c.webhook_no
     where c.entity_id = $1 group by c.webhook_no, h.blocked having sum(c.waiting) <> 0`,
    [entity],
  );
}

/** The conditions on a head, as SQL over `queue_heads`. */
export const HEAD_CONDITIONS = {
  open: 'blocked = 0',
  held: `blocked <> 0 and (blocked & ${BLOCKED.deleted}) = 0`,
  deleted: `(blocked & ${BLOCKED.deleted}) <> 0`,
  blocked: 'blocked <> 0',
} as const;

export const isOpen = ({ blocked }: { blocked: number }) => blocked === 0;
const isDeleted = ({ blocked }: { blocked: number }) => (blocked & BLOCKED.deleted) !== 0;
const isHeld = (head: { blocked: number }) => !isOpen(head) && !isDeleted(head);

/** How many of the deliveries that wait for a webhook have the status, as `statusInQueue` derives it. */
export function countWithStatus(webhook: WaitingOfWebhook, status: DeliveryStatus): number {
  const { waiting, retrying } = webhook;
  if (status === 'pending') return isOpen(webhook) ? waiting - retrying : 0;
  if (status === 'retrying') return isOpen(webhook) ? retrying : 0;
  if (status === 'held') return isHeld(webhook) ? waiting : 0;
  if (status === 'cancelled') return isDeleted(webhook) ? waiting : 0;
  return 0;
}
