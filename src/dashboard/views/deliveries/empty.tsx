import { FirstEvent } from '../../components/first-event.tsx';
import { PastTheEnd } from '../../components/lists/past-the-end.tsx';
import { Empty } from '../../components/view/states.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link } from '../../router.tsx';
import type { FilterValues } from './filters/filter-fields.tsx';
import { clearFilters } from './filters/filters.tsx';
import { OfferPayloadSearch } from './payload-search.tsx';
import { UndeliveredEvents } from './undelivered-events.tsx';

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

type NoMatchesProps = { total: number; limit: number; filters: FilterValues };

/** There are deliveries, but none on this page or for these filters. */
export function NoMatches({ total, limit, filters }: NoMatchesProps) {
  const { q, since } = filters;
  if (total > 0) return <PastTheEnd total={total} limit={limit} />;
  return (
    <Empty icon="search" title="No matching deliveries">
      {q === undefined ? (
        <p>No delivery matches these filters. New deliveries that do appear here automatically.</p>
      ) : (
        <p>
          No delivery has <code>{q}</code> as the ID of its transfer, agreement, event or itself, or at the beginning of
          its URL or host. An ID has to be complete.
        </p>
      )}
      {q === undefined ? null : <UndeliveredEvents q={q} />}
      {q === undefined ? null : <OfferPayloadSearch q={q} since={since} />}
      <button type="button" class="button" onClick={clearFilters}>
        Show all deliveries
      </button>
    </Empty>
  );
}
