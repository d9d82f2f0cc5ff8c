import { useEffect, useState } from 'preact/hooks';
import type { DeliveryListQuery } from '../../../client/types.ts';
import { DEFAULT_LIMIT } from '../../../contract/list-query.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { LiveSwitch } from '../../components/lists/live-switch.tsx';
import { Pager } from '../../components/lists/pager.tsx';
import { Failure, Loading, Notice } from '../../components/lists/states.tsx';
import { ViewHead } from '../../components/lists/view-head.tsx';
import { live } from '../../live.ts';
import { useStore } from '../../observable.ts';
import { usePlace } from '../../router.tsx';
import { NoneYet, NothingHere } from './empty.tsx';
import { FILTER_NAMES, type FilterValues } from './filters/filter-fields.tsx';
import { clearFilters, DeliveryFilters } from './filters/filters.tsx';
import { closePanel, DeliveryPanel } from './panel/detail.tsx';
import { ResendDialog } from './resend/resend-dialog.tsx';
import { ResendProgress } from './resend/resend-progress.tsx';
import { DeliveryTable } from './table.tsx';
import { useDeliveryList } from './use-delivery-list.ts';
import { useReading } from './use-reading-position.ts';

const PAGING = ['page', 'limit', 'sortBy', 'sortDir'];

/** The parameters of the list stand in the address under the API's own names, beside what is opened. */
export function Deliveries() {
  const { query } = usePlace();
  const [redelivering, setRedelivering] = useState(false);
  const on = useStore(live);
  const filters = pick(query, FILTER_NAMES) as FilterValues;
  const page = Number(query.get('page') ?? 1);
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT);
  const opened = query.get('delivery') || null;
  const redelivery = query.get('redelivery') || null;
  // Elsewhere every new one would push what stands there on to the next page.
  const followed =
    page === 1 && (query.get('sortBy') ?? 'dateCreated') === 'dateCreated' && !query.has('sortDir', 'asc');
  const { list, isReading } = useReading();
  // As text, as it stands in the address: the server says what is wrong with it, if anything is.
  const asked = pick(query, [...FILTER_NAMES, ...PAGING]) as DeliveryListQuery;
  const { shown, problem, loading, showLatest } = useDeliveryList(asked, on && followed, isReading);
  const total = shown?.list.totalResults ?? 0;
  useEscape(() => opened !== null && closePanel(opened));

  const catchUp = async () => {
    list.current?.scrollIntoView({ block: 'start' });
    await showLatest();
  };

  return (
    <>
      <ViewHead title="Deliveries" about="Each event on its way to each webhook: what was tried, and what came of it.">
        <LiveSwitch note={followed ? null : 'first page, newest first'} />
        <ActionButton needs="deliveries:write" onClick={() => setRedelivering(true)}>
          <Icon name="retry" size={14} />
          Send many again
        </ActionButton>
      </ViewHead>
      {redelivery === null ? null : <ResendProgress redeliveryId={redelivery} />}
      <DeliveryFilters query={query} values={filters} problem={problem} />
      <div class={opened === null ? 'split' : 'split split-open'}>
        <div class="split-list" ref={list}>
          {shown !== null && problem !== null ? <Notice problem={problem} /> : null}
          <NewOnes waiting={shown?.waiting ?? 0} show={catchUp} />
          {shown === null && problem !== null ? <Failure problem={problem} again={showLatest} /> : null}
          {shown === null && problem === null ? <Loading what="deliveries" /> : null}
          {shown === null ? null : shown.list.deliveries.length > 0 ? (
            <DeliveryTable deliveries={shown.list.deliveries} busy={loading} query={query} opened={opened} />
          ) : total === 0 && Object.keys(filters).length === 0 ? (
            <NoneYet />
          ) : (
            <NothingHere total={total} limit={limit} clear={clearFilters} />
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
      {redelivering ? <ResendDialog start={filters} onClose={() => setRedelivering(false)} /> : null}
    </>
  );
}

function pick(query: URLSearchParams, names: readonly string[]): Record<string, string> {
  return Object.fromEntries([...query].filter(([name]) => names.includes(name)));
}

const number = new Intl.NumberFormat();

/** What came while somebody was reading waits here and moves nothing. */
function NewOnes({ waiting, show }: { waiting: number; show: () => Promise<void> }) {
  return (
    <div class="new-ones" role="status">
      {waiting === 0 ? null : (
        <button type="button" class="button button-primary button-small" onClick={() => void show()}>
          <Icon name="up" size={12} />
          {number.format(waiting)} new
        </button>
      )}
    </div>
  );
}

/** A dialog in front has an Escape of its own. */
function useEscape(onEscape: () => void): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && document.querySelector('dialog[open]') === null) onEscape();
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  });
}
