import type { Delivery } from '../../../client/deliveries.ts';
import { attemptErrorText } from '../../../contract/attempt-error-text.ts';
import { type Column, createdColumn, DataTable } from '../../components/lists/data-table.tsx';
import type { ListState } from '../../components/lists/use-list.ts';
import { Network } from '../../components/values/network.tsx';
import { PayloadSummary } from '../../components/values/payload-summary.tsx';
import { DueTime } from '../../components/values/time.tsx';
import { UrlText } from '../../components/values/url.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link, urlFor } from '../../router.tsx';
import { KindBadge } from './delivery-kind.tsx';
import { StatusBadge } from './delivery-status.tsx';
import { RetractionBadge } from './retraction.tsx';
import { useSlots } from './use-slots.ts';
import { waitingText } from './waiting.tsx';

type TableProps = { deliveries: readonly Delivery[]; busy: boolean; list: ListState; opened: string | null };

export function DeliveryTable({ deliveries, busy, list, opened }: TableProps) {
  const slots = useSlots(deliveries.map(({ deliveryId }) => deliveryId));
  return (
    <DataTable
      name="deliveries row-links"
      caption="Deliveries"
      columns={columnsOf(Object.fromEntries(list.query), opened).filter(
        ({ name }) => name !== WAITS_FOR || showsWaiting(deliveries, list),
      )}
      rows={deliveries}
      keyOf={({ deliveryId }) => slots.get(deliveryId) ?? deliveryId}
      rowId={({ deliveryId }) => `row-${deliveryId}`}
      rowClass={({ deliveryId }) => (deliveryId === opened ? 'opened' : '')}
      {...{ busy, list }}
    />
  );
}

const WAITS_FOR = 'dateNextAttempt';

/** Without a row that waits, the column would be empty. A list that is sorted by it keeps it. */
function showsWaiting(deliveries: readonly Delivery[], { query }: ListState): boolean {
  return query.get('sortBy') === WAITS_FOR || deliveries.some(({ waitsFor }) => waitsFor !== null);
}

/** The last response stays longest: people look for it while a delivery is open next to the list. */
function columnsOf(values: Readonly<Record<string, string>>, opened: string | null): readonly Column<Delivery>[] {
  return [
    {
      name: 'status',
      header: 'Status',
      width: '8rem',
      narrowWidth: '7.25rem',
      narrow: { below: 'tiny', line: 'cell' },
      cell: (delivery) => <Status delivery={delivery} />,
    },
    {
      name: 'event',
      header: 'Event',
      width: 'rest',
      cell: (delivery) => (
        <DeliveredEvent
          delivery={delivery}
          to={urlFor(DASHBOARD_PATHS.deliveries, { ...values, delivery: delivery.deliveryId })}
          opened={delivery.deliveryId === opened}
        />
      ),
    },
    {
      name: 'response',
      header: 'Last response',
      width: '9rem',
      narrowWidth: '8rem',
      narrow: {
        below: 'small',
        line: (delivery) => (
          <div class="cut small">
            <LastResponse delivery={delivery} />
          </div>
        ),
      },
      cell: (delivery) => <LastResponse delivery={delivery} />,
    },
    {
      name: 'attempts',
      header: 'Attempts',
      width: '6rem',
      align: 'end',
      narrow: { below: 'medium' },
      cell: ({ attempts }) => attempts,
    },
    {
      name: WAITS_FOR,
      header: 'Waits for',
      sort: 'asc',
      width: '8.5rem',
      narrow: {
        below: 'wide',
        line: (delivery) => (delivery.waitsFor === null ? null : <WaitsFor delivery={delivery} />),
      },
      cell: (delivery) => <WaitsFor delivery={delivery} />,
    },
    createdColumn('Accepted', { sort: 'desc', width: '7rem', narrowWidth: '6.5rem' }),
  ];
}

/** The time of the next attempt, or the reason for which a delivery waits. */
function WaitsFor({ delivery: { waitsFor, dateNextAttempt } }: { delivery: Delivery }) {
  if (waitsFor === null) return <span class="muted">–</span>;
  if (waitsFor.kind === 'retry' && dateNextAttempt !== null) return <DueTime seconds={dateNextAttempt} />;
  return <span class="small">{waitingText(waitsFor)}</span>;
}

function Status({ delivery: { status, kind, event } }: { delivery: Delivery }) {
  return (
    <>
      <StatusBadge status={status} /> <KindBadge kind={kind} /> <RetractionBadge event={event} />
    </>
  );
}

type EventProps = { delivery: Delivery; to: string; opened: boolean };

/** The link covers the whole row, see `.row-link` in data-table.css. */
function DeliveredEvent({ delivery: { event, networkId, postUrl, summary }, to, opened }: EventProps) {
  return (
    <>
      <div class="event-head">
        <Link to={to} class="row-link" aria-current={opened ? 'page' : undefined}>
          {event}
        </Link>
        <PayloadSummary summary={summary} />
      </div>
      <div class="cut small">
        <Network networkId={networkId} /> <span class="muted">·</span> <UrlText url={postUrl} />
      </div>
    </>
  );
}

export function LastResponse({
  delivery: { lastStatusCode, lastError },
}: {
  delivery: Pick<Delivery, 'lastStatusCode' | 'lastError'>;
}) {
  if (lastStatusCode !== null) return <span class="number">HTTP {lastStatusCode}</span>;
  if (lastError !== null) return <span class="cut small">{attemptErrorText(lastError)}</span>;
  return <span class="muted">–</span>;
}
