import type { InvoiceListQuery } from '../../../client/chain/invoices.ts';
import { isPermanent, paybell } from '../../api.ts';
import { DataTable } from '../../components/lists/data-table.tsx';
import { ClearButton, FilterSelect } from '../../components/lists/filters.tsx';
import { List } from '../../components/lists/list.tsx';
import { useIsReading } from '../../components/lists/use-is-reading.ts';
import { useListState } from '../../components/lists/use-list.ts';
import { SearchField } from '../../components/search/search-field.tsx';
import { networkOptions } from '../../components/values/network.tsx';
import { LiveSwitch } from '../../components/view/live-switch.tsx';
import { Empty } from '../../components/view/states.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { live, usePolling } from '../../live.ts';
import { useObservable } from '../../observable.ts';
import { useResponse } from '../../use-response.ts';
import { useKnown } from '../deliveries/filters/filter-fields.tsx';
import { INVOICE_COLUMNS } from './columns.tsx';
import { CreateInvoice } from './create-invoice.tsx';

const POLL_MS = 5_000;
const FILTERS = ['q', 'watch', 'networkId'];
const WATCHES = [
  ['on', 'Still count'],
  ['ended', 'No longer count'],
] as const;

/** Expected payments, with the sum received for each. The URL has the parameters of the list. */
export function Invoices() {
  const state = useListState(FILTERS);
  const { page, parameters, filters } = state;
  const networks = networkOptions(useKnown().networks, filters.networkId);
  const { list, isReading } = useIsReading();
  const response = useResponse(JSON.stringify(parameters), (signal) =>
    paybell().invoices.list(parameters as InvoiceListQuery, { signal }),
  );
  const { problem, isStale, reload } = response;
  const on = useObservable(live);
  usePolling(on && page === 1 && !isPermanent(problem), POLL_MS, async () => {
    if (!isReading()) await reload();
    return true;
  });
  const of = state;
  return (
    <>
      <ViewHead title="Invoices" description="Payments that you expect, with the received and the missing amounts.">
        <LiveSwitch note={page === 1 ? null : 'only on page 1'} />
        <CreateInvoice />
      </ViewHead>
      <search class="filters payment-filters">
        <SearchField
          q={filters.q}
          placeholder="Reference, address, transaction hash or ID"
          busy={isStale}
          problem={problem}
        />
        <FilterSelect {...{ of, problem }} name="watch" label="New payments" all="All invoices" options={WATCHES} />
        <FilterSelect {...{ of, problem }} name="networkId" label="Network" all="All networks" options={networks} />
        <ClearButton {...state} />
      </search>
      <div ref={list}>
        <List
          what="invoices"
          state={state}
          response={response}
          rowsOf={({ invoices }) => invoices}
          none={
            <Empty icon="invoices" title="No invoices yet">
              <p>
                An invoice is a payment that you expect. Paybell shows whether it was paid in full, in part, late or not
                at all.
              </p>
              <CreateInvoice isPrimary />
            </Empty>
          }
        >
          {(invoices, busy) => (
            <DataTable
              name="invoices row-links"
              caption="Invoices"
              columns={INVOICE_COLUMNS}
              rows={invoices}
              keyOf={({ invoiceId }) => invoiceId}
              busy={busy}
              list={state}
            />
          )}
        </List>
      </div>
    </>
  );
}
