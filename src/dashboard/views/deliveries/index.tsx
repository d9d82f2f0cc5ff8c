import { useEffect, useState } from 'preact/hooks';
import type { DeliveryListQuery } from '../../../client/deliveries.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { List } from '../../components/lists/list.tsx';
import { useIsReading } from '../../components/lists/use-is-reading.ts';
import { useListState } from '../../components/lists/use-list.ts';
import { TransactionNotice, withTransaction } from '../../components/search/transaction-notice.tsx';
import { countText } from '../../components/values/count-text.ts';
import { LiveSwitch } from '../../components/view/live-switch.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { live } from '../../live.ts';
import { useObservable } from '../../observable.ts';
import { BulkResendDialog } from './bulk-resend/dialog.tsx';
import { BulkResendProgress } from './bulk-resend/progress.tsx';
import { NoDeliveries, NoMatchingDelivery } from './empty.tsx';
import { DeliveryFilters } from './filters/filters.tsx';
import { closePanel, DeliveryPanel } from './panel/index.tsx';
import { Searched } from './payload-search.tsx';
import { DeliveryTable } from './table.tsx';
import { useDeliveryCounts } from './use-counts.ts';
import { useDeliveryList } from './use-delivery-list.ts';

/** The filters of the list operation under their API names. */
const FILTERS = ['status', 'q', 'event', 'networkId', 'webhookId', 'endpointId', 'eventId', 'since', 'until'];

/** The URL holds the list's parameters under their API names, and the IDs of the open delivery and bulk resend. */
export function Deliveries() {
  const state = useListState(FILTERS);
  const { query, filters } = state;
  const [resending, setResending] = useState(false);
  const on = useObservable(live);
  const payload = query.get('payload') || null;
  const opened = query.get('delivery') || null;
  const redelivery = query.get('redelivery') || null;
  const stillBecause = whyStill(query);
  const { list, isReading } = useIsReading();
  const parameters = withTransaction({ ...state.parameters, ...(payload !== null && { payload }) });
  const following = on && stillBecause === null;
  const response = useDeliveryList(parameters as DeliveryListQuery, following, isReading);
  const { problem, loading, newer, reload } = response;
  const counts = useDeliveryCounts(filters, following);
  useEscape(() => opened !== null && closePanel(opened));

  const catchUp = async () => {
    list.current?.scrollIntoView({ block: 'start' });
    await reload();
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
          list={state}
          payload={payload}
          counts={payload === null ? counts : null}
          busy={loading}
          problem={problem}
        />
      </div>
      <div class={opened === null ? 'split' : 'split split-open'}>
        <div class="split-list" ref={list}>
          <TransactionNotice text={filters.q} />
          <NewDeliveries count={newer} show={catchUp} />
          <List
            what="deliveries"
            state={{ ...state, isFiltered: state.isFiltered || payload !== null }}
            response={response}
            rowsOf={({ deliveries }) => deliveries}
            none={<NoDeliveries />}
            noMatch={<NoMatchingDelivery list={state} />}
            above={({ searched }) => (payload && searched ? <Searched payload={payload} searched={searched} /> : null)}
          >
            {(deliveries, busy) => <DeliveryTable {...{ deliveries, busy, opened }} list={state} />}
          </List>
        </div>
        {opened === null ? null : <DeliveryPanel deliveryId={opened} />}
      </div>
      {resending ? <BulkResendDialog initial={filters} onClose={() => setResending(false)} /> : null}
    </>
  );
}

/** Why the list does not follow new deliveries; null if it does. */
function whyStill(query: URLSearchParams): string | null {
  if (query.get('payload')) return 'not while searching payloads';
  const newestFirst = (query.get('sortBy') ?? 'dateCreated') === 'dateCreated' && !query.has('sortDir', 'asc');
  // On any other page or sort order, every new delivery would push rows on to the next page.
  return newestFirst && Number(query.get('page') ?? 1) === 1 ? null : 'only on page 1, newest first';
}

/** Offers the deliveries that arrived while someone was reading. It takes no space, so that no row moves. */
function NewDeliveries({ count, show }: { count: number; show: () => Promise<void> }) {
  return (
    <div class="new-deliveries" role="status">
      {count === 0 ? null : (
        <button type="button" class="button button-primary button-small" onClick={() => void show()}>
          <Icon name="up" size={12} />
          {countText(count)} new
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
