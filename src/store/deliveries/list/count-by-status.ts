import type { DeliveryCounts } from '../../../contract/deliveries.ts';
import type { DeliveryStatus } from '../../../domain/attempt.ts';
import { countScope } from './count.ts';
import type { Scope } from './scope.ts';

/** All statuses but `delivered`, which no index contains: its count is the total minus all other counts. */
const COUNTED = ['pending', 'retrying', 'failed', 'held', 'cancelled', 'superseded'] as const;

/** Counts the deliveries of a scope in each status. A scope of null matches nothing. */
export async function countByStatus(scope: Scope | null): Promise<DeliveryCounts> {
  const counts: DeliveryCounts = { total: 0, ...NONE };
  if (scope === null) return counts;
  counts.total = await countScope({ ...scope, status: null });
  counts.delivered = counts.total;
  for (const status of COUNTED) {
    counts[status] = await countScope({ ...scope, status });
    counts.delivered -= counts[status];
  }
  return counts;
}

const NONE: Readonly<Record<DeliveryStatus, number>> = {
  pending: 0,
  retrying: 0,
  delivered: 0,
  failed: 0,
  held: 0,
  cancelled: 0,
  superseded: 0,
};
