import { FirstEvent } from '../../components/first-event.tsx';
import { PastTheEnd } from '../../components/lists/past-the-end.tsx';
import { Empty } from '../../components/view/states.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link } from '../../router.tsx';
import { clearFilters } from './filters/filters.tsx';

export function NoDeliveries() {
  return (
    <Empty icon="deliveries" title="No deliveries yet">
      <p>
        A delivery is one event sent to one webhook. Register a <Link to={DASHBOARD_PATHS.webhooks}>webhook</Link>, then
        publish an event. Its deliveries appear here automatically.
      </p>
      <FirstEvent />
    </Empty>
  );
}

/** There are deliveries, but none on this page or for these filters. */
export function NoMatches({ total, limit }: { total: number; limit: number }) {
  if (total > 0) return <PastTheEnd total={total} limit={limit} />;
  return (
    <Empty icon="search" title="No matching deliveries">
      <p>No delivery matches these filters. New deliveries that do appear here automatically.</p>
      <button type="button" class="button" onClick={clearFilters}>
        Show all deliveries
      </button>
    </Empty>
  );
}
