import { useEffect, useMemo, useState } from 'preact/hooks';
import type { DeliveryListQuery } from '../../../client/deliveries.ts';
import { DEFAULT_LIMIT } from '../../../contract/list-query.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { Pager } from '../../components/lists/pager.tsx';
import { TransactionNotice, withTransaction } from '../../components/search/transaction-notice.tsx';
import { LiveSwitch } from '../../components/view/live-switch.tsx';
import { Failure, Loading, ProblemAlert } from '../../components/view/states.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { live } from '../../live.ts';
import { useObservable } from '../../observable.ts';
import { useRoute } from '../../router.tsx';
import { BulkResendDialog } from './bulk-resend/dialog.tsx';
import { BulkResendProgress } from './bulk-resend/progress.tsx';
import { NoDeliveries, NoMatches } from './empty.tsx';
import { FILTER_NAMES, type FilterValues } from './filters/filter-fields.tsx';
import { DeliveryFilters } from './filters/filters.tsx';
import { rangeStart } from './filters/time-range.ts';
import { closePanel, DeliveryPanel } from './panel/index.tsx';
import { Searched } from './payload-search.tsx';
import { DeliveryTable } from './table.tsx';
import { useDeliveryCounts } from './use-counts.ts';
import { useDeliveryList } from './use-delivery-list.ts';
import { useIsReading } from './use-is-reading.ts';

const PAGING = ['page', 'limit', 'sortBy', 'sortDir'];

/** The URL holds the list's parameters under their API names, and the IDs of the open delivery and bulk resend. */
export function Deliveries() {
  const { query } = useRoute();
  const [resending, setResending] = useState(false);
  const on = useObservable(live);
  const filters = useFilters(query);
  const payload = query.get('payload') || null;
  const page = Number(query.get('page') ?? 1);
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT);
  const opened = query.get('delivery') || null;
  const redelivery = query.get('redelivery') || null;
  const stillBecause = whyStill(query);
  const { list, isReading } = useIsReading();
  // Passed on as text, unchecked: the server reports what is wrong with it.
  const parameters = withTransaction({ ...filters, ...pick(query, ['payload', ...PAGING]) });
  const following = on && stillBecause === null;
  const { shown, problem, loading, showLatest } = useDeliveryList(
    parameters as DeliveryListQuery,
    following,
    isReading,
  );
  const counts = useDeliveryCounts(filters, following);
  const total = shown?.list.totalResults ?? 0;
  useEscape(() => opened !== null && closePanel(opened));

  const catchUp = async () => {
    list.current?.scrollIntoView({ block: 'start' });
    await showLatest();
  };

  return (
    <>
      <div class={opened === null ? '' : 'behind-panel'}>
        <ViewHead title="Deliveries" description="Every event sent to every webhook, with its attempts and responses.">
          <LiveSwitch note={stillBecause} />
          <ActionButton
            needs="deliveries:write"
            disabled={payload !== null}
            {...(payload !== null && { title: 'Not for a search in payloads: choose filters instead' })}
            onClick={() => setResending(true)}
          >
            <Icon name="retry" size={14} />
            Bulk resend
          </ActionButton>
        </ViewHead>
        {redelivery === null ? null : <BulkResendProgress redeliveryId={redelivery} />}
        <DeliveryFilters
          query={query}
          values={filters}
          counts={payload === null ? counts : null}
          busy={loading}
          problem={problem}
        />
      </div>
      <div class={opened === null ? 'split' : 'split split-open'}>
        <div class="split-list" ref={list}>
          <TransactionNotice text={filters.q} />
          {shown !== null && problem !== null ? <ProblemAlert problem={problem} /> : null}
          <NewDeliveries count={shown?.newer ?? 0} show={catchUp} />
          {shown === null && problem !== null ? <Failure problem={problem} reload={showLatest} /> : null}
          {shown === null && problem === null ? <Loading what="deliveries" /> : null}
          {payload === null || !shown?.list.searched ? null : (
            <Searched payload={payload} searched={shown.list.searched} />
          )}
          {shown === null ? null : shown.list.deliveries.length > 0 ? (
            <DeliveryTable deliveries={shown.list.deliveries} busy={loading} query={query} opened={opened} />
          ) : total === 0 && Object.keys(filters).length === 0 && payload === null ? (
            <NoDeliveries />
          ) : (
            <NoMatches total={total} limit={limit} filters={filters} />
          )}
          {total === 0 ? null : (
            <Pager
              total={total}
              page={page}
              limit={limit}
              shown={shown?.list.deliveries.length ?? 0}
              what="deliveries"
            />
          )}
        </div>
        {opened === null ? null : <DeliveryPanel deliveryId={opened} live={on} />}
      </div>
      {resending ? <BulkResendDialog initial={filters} onClose={() => setResending(false)} /> : null}
    </>
  );
}

/** The filters of the URL under their API names. A time range is counted from when it appears in the URL. */
function useFilters(query: URLSearchParams): FilterValues {
  const range = query.get('range');
  const start = useMemo(() => rangeStart(range, Date.now()), [range]);
  return { ...(pick(query, FILTER_NAMES) as FilterValues), ...(start !== null && { since: start }) };
}

/** Why the list does not follow what is new; null if it does. */
function whyStill(query: URLSearchParams): string | null {
  if (query.get('payload')) return 'not while searching payloads';
  const newestFirst = (query.get('sortBy') ?? 'dateCreated') === 'dateCreated' && !query.has('sortDir', 'asc');
  // On any other page or sort order, every new delivery would push rows on to the next page.
  return newestFirst && Number(query.get('page') ?? 1) === 1 ? null : 'only on page 1, newest first';
}

function pick(query: URLSearchParams, names: readonly string[]): Record<string, string> {
  return Object.fromEntries([...query].filter(([name]) => names.includes(name)));
}

const number = new Intl.NumberFormat();

/** Offers the deliveries that arrived while someone was reading. It takes no space, so that no row moves. */
function NewDeliveries({ count, show }: { count: number; show: () => Promise<void> }) {
  return (
    <div class="new-deliveries" role="status">
      {count === 0 ? null : (
        <button type="button" class="button button-primary button-small" onClick={() => void show()}>
          <Icon name="up" size={12} />
          {number.format(count)} new
        </button>
      )}
    </div>
  );
}

/** An open dialog handles Escape itself. */
function useEscape(onEscape: () => void): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && document.querySelector('dialog[open]') === null) onEscape();
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  });
}
