import type { PaymentListQuery } from '../../../client/chain/payments.ts';
import { isPermanent, paybell } from '../../api.ts';
import { DataTable } from '../../components/lists/data-table.tsx';
import { List } from '../../components/lists/list.tsx';
import { useIsReading } from '../../components/lists/use-is-reading.ts';
import { useListState } from '../../components/lists/use-list.ts';
import { LiveSwitch } from '../../components/view/live-switch.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { live, usePolling } from '../../live.ts';
import { useObservable } from '../../observable.ts';
import { useResponse } from '../../use-response.ts';
import { PAYMENT_COLUMNS } from './columns.tsx';
import { NoMatchingPayment, NoPayments } from './empty.tsx';
import { PaymentFilters } from './filters.tsx';

const POLL_MS = 5_000;
const FILTERS = ['q', 'state', 'networkId', 'token'];

/** Transfers on networks, with their state and the webhooks that have them. The URL holds the list's parameters. */
export function Payments() {
  const state = useListState(FILTERS);
  const { page, parameters } = state;
  const { list, isReading } = useIsReading();
  const response = useResponse(JSON.stringify(parameters), (signal) =>
    paybell().payments.list(parameters as PaymentListQuery, { signal }),
  );
  const { problem, isStale, reload } = response;
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
      <PaymentFilters list={state} busy={isStale} problem={problem} />
      <div ref={list}>
        <List
          what="payments"
          state={state}
          response={response}
          rowsOf={({ payments }) => payments}
          none={<NoPayments onAdded={() => void reload()} />}
          noMatch={<NoMatchingPayment list={state} />}
        >
          {(payments, busy) => (
            <DataTable
              name="payments row-links"
              caption="Payments"
              columns={PAYMENT_COLUMNS}
              rows={payments}
              keyOf={({ paymentId }) => paymentId}
              busy={busy}
              list={state}
            />
          )}
        </List>
      </div>
    </>
  );
}
