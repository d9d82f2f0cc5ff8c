import { FirstEvent } from '../../components/first-event.tsx';
import { NoMatch } from '../../components/lists/list.tsx';
import type { ListState } from '../../components/lists/use-list.ts';
import { Empty } from '../../components/view/states.tsx';

export function NoEvents() {
  return (
    <Empty icon="events" title="No events yet">
      <p>Publish an event, or follow a network. Every event that Paybell accepts appears here automatically.</p>
      <FirstEvent />
    </Empty>
  );
}

/** Shown if there are events, but none for these filters. */
export function NoMatchingEvent({ list: { filters, clear } }: { list: ListState }) {
  const { q, matched } = filters;
  if (q === undefined && matched === 'false') {
    return (
      <NoMatch what="events" clear={clear} icon="check" title="All events reached a webhook">
        <p>Every event of these filters was sent to a webhook.</p>
      </NoMatch>
    );
  }
  return (
    <NoMatch what="events" clear={clear}>
      {q === undefined ? (
        <p>No event matches these filters. New matching events appear here automatically.</p>
      ) : (
        <p>
          No event with these filters has <code>{q}</code> as its own ID, or as the ID of its transfer or agreement. An
          ID has to be complete.
        </p>
      )}
    </NoMatch>
  );
}
