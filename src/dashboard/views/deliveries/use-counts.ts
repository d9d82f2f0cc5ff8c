import type { DeliveryCounts, DeliveryCountsQuery } from '../../../client/deliveries.ts';
import { isPermanent, paybell } from '../../api.ts';
import type { Filters } from '../../components/lists/use-list.ts';
import { withTransaction } from '../../components/search/transaction-notice.tsx';
import { usePolling } from '../../live.ts';
import { useResponse } from '../../use-response.ts';

/** Less often than the list, because a count looks at every delivery of the filters. */
const POLL_MS = 5_000;

/** How many deliveries match in each state; null if that is not known. */
export function useDeliveryCounts({ status: _, ...rest }: Filters, live: boolean): DeliveryCounts | null {
  // Passed on as text, as the list does it.
  const others = withTransaction(rest) as DeliveryCountsQuery;
  const { data, problem, loading, isStale, reload } = useResponse(JSON.stringify(others), (signal) =>
    paybell().deliveries.counts(others, { signal }),
  );
  usePolling(live && !loading && !isPermanent(problem), POLL_MS, async () => {
    await reload();
    return true;
  });
  // The counts of other filters would mislead.
  return isStale ? null : data;
}
