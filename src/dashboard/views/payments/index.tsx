import type { PaymentListQuery } from '../../../client/chain/payments.ts';
import { DEFAULT_LIMIT } from '../../../contract/list-query.ts';
import { isPermanent, paybell } from '../../api.ts';
import { Pager } from '../../components/lists/pager.tsx';
import { LiveSwitch } from '../../components/view/live-switch.tsx';
import { Failure, Loading, ProblemAlert } from '../../components/view/states.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { live, usePolling } from '../../live.ts';
import { useObservable } from '../../observable.ts';
import { useRoute } from '../../router.tsx';
import { useResponse } from '../../use-response.ts';
import { useIsReading } from '../deliveries/use-is-reading.ts';
import { NoMatches, NoPayments } from './empty.tsx';
import { FILTER_NAMES, type FilterValues, PaymentFilters } from './filters.tsx';
import { PaymentTable } from './table.tsx';

const POLL_MS = 5_000;
const PAGING = ['page', 'limit', 'sortBy', 'sortDir'];

/** Transfers on networks, with their state and the webhooks that have them. The URL holds the list's parameters. */
export function Payments() {
  const { query } = useRoute();
  const pick = (names: readonly string[]) => Object.fromEntries([...query].filter(([name]) => names.includes(name)));
  const values: FilterValues = pick(FILTER_NAMES);
  const page = Number(query.get('page') ?? 1);
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT);
  // Passed on as text, unchecked: the server reports what is wrong with it.
  const parameters = pick([...FILTER_NAMES, ...PAGING]);
  const { list, isReading } = useIsReading();
  const { data, problem, isStale, reload } = useResponse(JSON.stringify(parameters), (signal) =>
    paybell().payments.list(parameters as PaymentListQuery, { signal }),
  );
  const on = useObservable(live);
  usePolling(on && page === 1 && !isPermanent(problem), POLL_MS, async () => {
    // New payments would move the rows that someone is reading.
    if (!isReading()) await reload();
    return true;
  });
  return (
    <>
      <ViewHead title="Payments" description="Was it paid, can it still be undone, and which webhooks have it?">
        <LiveSwitch note={page === 1 ? null : 'only on page 1'} />
      </ViewHead>
      <PaymentFilters values={values} busy={isStale} problem={problem} />
      <div ref={list}>
        {data === null && problem !== null ? <Failure problem={problem} reload={reload} /> : null}
        {data === null && problem === null ? <Loading what="payments" /> : null}
        {data !== null && problem !== null ? <ProblemAlert problem={problem} /> : null}
        {data === null ? null : data.payments.length > 0 ? (
          <PaymentTable payments={data.payments} busy={isStale} query={query} />
        ) : data.totalResults === 0 && Object.keys(values).length === 0 ? (
          <NoPayments onAdded={() => void reload()} />
        ) : (
          <NoMatches total={data.totalResults} limit={limit} values={values} />
        )}
        {data === null || data.totalResults === 0 ? null : (
          <Pager
            total={data.totalResults}
            isExact={data.isTotalExact}
            page={page}
            limit={limit}
            shown={data.payments.length}
            what="payments"
          />
        )}
      </div>
    </>
  );
}
