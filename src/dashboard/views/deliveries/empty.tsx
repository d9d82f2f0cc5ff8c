import { FirstEvent } from '../../components/first-event.tsx';
import { NoMatch } from '../../components/lists/list.tsx';
import type { ListState } from '../../components/lists/use-list.ts';
import { Empty } from '../../components/view/states.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link } from '../../router.tsx';
import { KnownOtherwise } from './known-otherwise.tsx';
import { OfferPayloadSearch } from './payload-search.tsx';

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

/** Shown if there are deliveries, but none for these filters. */
export function NoMatchingDelivery({ list: { filters, clear } }: { list: ListState }) {
  const { q, since } = filters;
  return (
    <NoMatch what="deliveries" clear={clear}>
      {q === undefined ? (
        <p>No delivery matches these filters. New matching deliveries appear here automatically.</p>
      ) : (
        <>
          <p>
            No delivery has <code>{q}</code> as its own ID, as the ID of its transfer, agreement or event, or at the
            beginning of its URL or host. An ID has to be complete.
          </p>
          <KnownOtherwise q={q} />
          <OfferPayloadSearch q={q} since={since} />
        </>
      )}
    </NoMatch>
  );
}
