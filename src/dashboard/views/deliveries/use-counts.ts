import type { DeliveryCounts, DeliveryCountsQuery } from '../../../client/deliveries.ts';
import { isPermanent, paybell } from '../../api.ts';
import { withTransaction } from '../../components/search/transaction-notice.tsx';
import { usePolling } from '../../live.ts';
import { useResponse } from '../../use-response.ts';
import type { FilterValues } from './filters/filter-fields.tsx';

/** Less often than the list, because a count looks at every delivery of the filters. */
const POLL_MS = 5_000;

/** How many deliveries match in each state; null where that is not known. */
export function useDeliveryCounts(filters: FilterValues, live: boolean): DeliveryCounts | null {
  const { status: _, ...rest } = filters;
  // Passed on as text, as the list does it.
  const others = withTransaction(rest);
  const key = JSON.stringify(others);
  const { data, problem, loading, reload } = useResponse(key, async (signal) => ({
    key,
    counts: await paybell().deliveries.counts(others as DeliveryCountsQuery, { signal }),
  }));
  usePolling(live && !loading && !isPermanent(problem), POLL_MS, async () => {
    await reload();
    return true;
  });
  // Counts of other filters would be taken for those of these.
  return data?.key === key ? data.counts : null;
}
