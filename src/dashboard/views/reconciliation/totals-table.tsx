import type { Reconciliation } from '../../../client/events/reconciliations.ts';
import { type Column, DataTable, type NarrowSize, numberColumn } from '../../components/lists/data-table.tsx';
import { countText } from '../../components/values/count-text.ts';
import { Network } from '../../components/values/network.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link, urlFor } from '../../router.tsx';
import { secondsOf } from './days.ts';
import { byDifference, differs, missingAmount, type Totals } from './differences.ts';

type TableProps = { reconciliation: Reconciliation; busy: boolean };

/** By event kind, network and token, with exact sums: the rows that differ come first. */
export function TotalsTable({ reconciliation: { day, endpointId, totals }, busy }: TableProps) {
  return (
    <DataTable
      name="reconciliation"
      caption={`Events of ${day} by kind, network and token`}
      columns={columnsOf(day, endpointId)}
      rows={byDifference(totals)}
      keyOf={({ networkId, event, token }) => `${networkId} ${event} ${token}`}
      rowClass={(row) => (differs(row) ? 'row-bad' : '')}
      busy={busy}
    />
  );
}

function columnsOf(day: string, endpointId: string | null): readonly Column<Totals>[] {
  return [
    {
      name: 'event',
      header: 'Event',
      width: 'rest',
      cell: (row) => (
        <>
          <div>
            <strong>{row.event}</strong>{' '}
            <span class="small">
              <Network networkId={row.networkId} />
            </span>
          </div>
          <TokenName token={row.token} />
          {differs(row) ? <ToDeliveries row={row} day={day} endpointId={endpointId} /> : null}
        </>
      ),
    },
    sumColumn('events', 'Events', ({ events }) => countText(events), 'small'),
    sumColumn('final', 'Final', ({ final }) => countText(final), 'medium'),
    sumColumn('sent', 'Sent', ({ sent }) => countText(sent), 'medium'),
    sumColumn('acknowledged', 'Acknowledged', (row) => <Acknowledged row={row} />),
    { ...sumColumn<Totals>('amount', 'Amount', (row) => <Amount row={row} />), width: '16rem', narrowWidth: '8rem' },
  ];
}

/** A column of counts or exact sums. */
export function sumColumn<Row>(name: string, header: string, cell: Column<Row>['cell'], below?: NarrowSize) {
  return numberColumn(name, header, cell, { width: '9rem', narrowWidth: '6.5rem', ...(below && { below }) });
}

function Acknowledged({ row }: { row: Totals }) {
  const { acknowledged, events } = row;
  return (
    <>
      {countText(acknowledged)} <span class="only-phone">of {countText(events)}</span>
      {differs(row) ? <div class="small error-text">{countText(events - acknowledged)} missing</div> : null}
    </>
  );
}

function Amount({ row }: { row: Totals }) {
  const missing = missingAmount(row);
  return (
    <div class="exact">
      {row.amount}
      {missing === null ? null : <div class="small error-text">{missing} missing</div>}
      <WithoutAmount count={row.withoutAmount} />
    </div>
  );
}

export function WithoutAmount({ count }: { count: number }) {
  return count === 0 ? null : <div class="small muted">{countText(count)} without an amount</div>;
}

type LinksProps = { row: Totals; day: string; endpointId: string | null };

function ToDeliveries({ row: { networkId, event }, day, endpointId }: LinksProps) {
  const range = secondsOf(day);
  return (
    <div class="small">
      <Link to={urlFor(DASHBOARD_PATHS.deliveries, { networkId, event, endpointId, ...range })}>Show deliveries</Link>
      {' · '}
      <Link to={urlFor(DASHBOARD_PATHS.events, { networkId, event, ...range })}>Show events</Link>
    </div>
  );
}

/** Cut on a phone, because it would take five lines there. */
export function TokenName({ token }: { token: string | null }) {
  if (token === null) return <span class="small muted">No token</span>;
  return (
    <code class="small token" title={token}>
      {token}
    </code>
  );
}
