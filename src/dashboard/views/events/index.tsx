import { useMemo, useState } from 'preact/hooks';
import type { Event, EventListQuery } from '../../../client/events/events.ts';
import { DEFAULT_LIMIT } from '../../../contract/list-query.ts';
import { isPermanent, paybell } from '../../api.ts';
import { Pager } from '../../components/lists/pager.tsx';
import { TransactionNotice, withTransaction } from '../../components/search/transaction-notice.tsx';
import { LiveSwitch } from '../../components/view/live-switch.tsx';
import { Failure, Loading, ProblemAlert } from '../../components/view/states.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { live, usePolling } from '../../live.ts';
import { useObservable } from '../../observable.ts';
import { useRoute } from '../../router.tsx';
import { useResponse } from '../../use-response.ts';
import type { FilterValues } from '../deliveries/filters/filter-fields.tsx';
import { rangeStart } from '../deliveries/filters/time-range.ts';
import { useIsReading } from '../deliveries/use-is-reading.ts';
import { RegisterDialog } from '../webhooks/dialogs/register-dialog.tsx';
import { webhooksRevision } from '../webhooks/revision.ts';
import { NoEvents } from './empty.tsx';
import { EventFilters, FILTER_NAMES } from './filters.tsx';
import { EventTable } from './table.tsx';

const POLL_MS = 5_000;
const PAGING = ['page', 'limit', 'sortBy', 'sortDir'];

/** What was accepted, and which of it reached no webhook. The URL holds the list's parameters under their API names. */
export function Events() {
  const { query } = useRoute();
  const [registering, setRegistering] = useState<Event | null>(null);
  const { filters, parameters } = useParameters(query);
  const page = Number(query.get('page') ?? 1);
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT);
  const { list, isReading } = useIsReading();
  const response = useResponse(JSON.stringify(parameters), (signal) =>
    paybell().events.list(withTransaction(parameters) as EventListQuery, { signal }),
  );
  const { data, problem, isStale, reload } = response;
  const countQuery = withTransaction({ ...filters, matched: 'false', limit: '1' });
  const missed = useResponse(JSON.stringify(filters), (signal) =>
    paybell().events.list(countQuery as EventListQuery, { signal }),
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
        query={query}
        values={filters}
        unmatched={missed.isStale ? null : (missed.data?.totalResults ?? null)}
        busy={isStale}
        problem={problem}
      />
      <div ref={list}>
        <TransactionNotice text={filters.q} />
        {data === null && problem !== null ? <Failure problem={problem} reload={reload} /> : null}
        {data === null && problem === null ? <Loading what="events" /> : null}
        {data !== null && problem !== null ? <ProblemAlert problem={problem} /> : null}
        {data === null ? null : data.events.length > 0 ? (
          <EventTable
            events={data.events}
            coverage={coverage.data}
            busy={isStale}
            query={query}
            onRegister={setRegistering}
          />
        ) : (
          <NoEvents
            total={data.totalResults}
            limit={limit}
            q={filters.q}
            filtered={Object.keys(filters).length > 0 || query.has('matched')}
            unmatchedOnly={query.get('matched') === 'false'}
          />
        )}
        {data === null || data.totalResults === 0 ? null : (
          <Pager total={data.totalResults} page={page} limit={limit} shown={data.events.length} what="events" />
        )}
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

type Parameters = { filters: FilterValues; parameters: Record<string, string> };

/** Passed on as text, unchecked: the server reports what is wrong with it. */
function useParameters(query: URLSearchParams): Parameters {
  const range = query.get('range');
  const start = useMemo(() => rangeStart(range, Date.now()), [range]);
  const pick = (names: readonly string[]) => Object.fromEntries([...query].filter(([name]) => names.includes(name)));
  const since = start === null ? {} : { since: start };
  const parameters = { ...pick([...FILTER_NAMES, ...PAGING]), ...since };
  return { filters: { ...pick(FILTER_NAMES.filter((name) => name !== 'matched')), ...since }, parameters };
}
