import { FirstEvent } from '../../components/first-event.tsx';
import { PastTheEnd } from '../../components/lists/past-the-end.tsx';
import { Empty } from '../../components/view/states.tsx';
import { clearFilters } from './filters.tsx';

type NoEventsProps = {
  total: number;
  limit: number;
  q: string | undefined;
  filtered: boolean;
  unmatchedOnly: boolean;
};

/** There is no event on this page, for these filters, or at all. */
export function NoEvents({ total, limit, q, filtered, unmatchedOnly }: NoEventsProps) {
  if (total > 0) return <PastTheEnd total={total} limit={limit} />;
  if (!filtered) {
    return (
      <Empty icon="events" title="No events yet">
        <p>Publish an event, or follow a network. Every event that Paybell accepts appears here automatically.</p>
        <FirstEvent />
      </Empty>
    );
  }
  if (q !== undefined) {
    return (
      <Empty icon="search" title="No matching events">
        <p>
          No event matches these filters and has <code>{q}</code> as the ID of itself, its transfer or its agreement. An
          ID has to be complete.
        </p>
        <button type="button" class="button" onClick={clearFilters}>
          Show all events
        </button>
      </Empty>
    );
  }
  return (
    <Empty
      icon={unmatchedOnly ? 'check' : 'search'}
      title={unmatchedOnly ? 'All events reached a webhook' : 'No matching events'}
    >
      <p>
        {unmatchedOnly
          ? 'Every event of these filters had a webhook that it was sent to.'
          : 'No event matches these filters. New events that do appear here automatically.'}
      </p>
      <button type="button" class="button" onClick={clearFilters}>
        Show all events
      </button>
    </Empty>
  );
}
