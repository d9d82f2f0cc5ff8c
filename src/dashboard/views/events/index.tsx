import { useState } from 'preact/hooks';
import type { Event, EventListQuery } from '../../../client/events/events.ts';
import { isPermanent, paybell } from '../../api.ts';
import { List } from '../../components/lists/list.tsx';
import { useIsReading } from '../../components/lists/use-is-reading.ts';
import { useListState } from '../../components/lists/use-list.ts';
import { TransactionNotice, withTransaction } from '../../components/search/transaction-notice.tsx';
import { LiveSwitch } from '../../components/view/live-switch.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { live, usePolling } from '../../live.ts';
import { useObservable } from '../../observable.ts';
import { useResponse } from '../../use-response.ts';
import { RegisterDialog } from '../webhooks/dialogs/register-dialog.tsx';
import { webhooksRevision } from '../webhooks/revision.ts';
import { NoEvents, NoMatchingEvent } from './empty.tsx';
import { EventFilters } from './filters.tsx';
import { EventTable } from './table.tsx';

const POLL_MS = 5_000;
const FILTERS = ['q', 'event', 'networkId', 'eventId', 'since', 'until', 'matched'];

/** Accepted events, with a mark on each that reached no webhook. The URL holds the list's parameters under their API names. */
export function Events() {
  const state = useListState(FILTERS);
  const { page, filters, parameters } = state;
  const [registering, setRegistering] = useState<Event | null>(null);
  const { list, isReading } = useIsReading();
  const response = useResponse(JSON.stringify(parameters), (signal) =>
    paybell().events.list(withTransaction(parameters) as EventListQuery, { signal }),
  );
  const { problem, isStale, reload } = response;
  const { matched: _, ...others } = filters;
  const missed = useResponse(JSON.stringify(others), (signal) =>
    paybell().events.list(withTransaction({ ...others, matched: 'false', limit: '1' }) as EventListQuery, { signal }),
  );
  const revision = useObservable(webhooksRevision);
  const coverage = useResponse(String(revision), (signal) => paybell().webhooks.coverage({ signal }));
  const on = useObservable(live);
  usePolling(on && page === 1 && !isPermanent(problem), POLL_MS, async () => {
    // New events would move the rows that someone is reading.
    if (!isReading()) await Promise.all([reload(), missed.reload()]);
    return true;
  });
  return (
    <>
      <ViewHead
        title="Events"
        description="Every event that Paybell has accepted, and how many webhooks it was sent to."
      >
        <LiveSwitch note={page === 1 ? null : 'only on page 1'} />
      </ViewHead>
      <EventFilters
        list={state}
        unmatched={missed.isStale ? null : (missed.data?.totalResults ?? null)}
        busy={isStale}
        problem={problem}
      />
      <div ref={list}>
        <TransactionNotice text={filters.q} />
        <List
          what="events"
          state={state}
          response={response}
          rowsOf={({ events }) => events}
          none={<NoEvents />}
          noMatch={<NoMatchingEvent list={state} />}
        >
          {(events, busy) => (
            <EventTable {...{ events, busy }} list={state} coverage={coverage.data} onRegister={setRegistering} />
          )}
        </List>
      </div>
      {registering === null ? null : (
        <RegisterDialog
          coverage={coverage.data}
          preset={{ networkIds: [registering.networkId], events: [registering.event] }}
          onClose={() => setRegistering(null)}
        />
      )}
    </>
  );
}
