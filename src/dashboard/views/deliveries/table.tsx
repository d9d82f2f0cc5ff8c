import type { Delivery } from '../../../client/deliveries.ts';
import { attemptErrorText } from '../../../contract/attempt-error-text.ts';
import { SortHead } from '../../components/lists/sort-head.tsx';
import { Network } from '../../components/values/network.tsx';
import { DueTime, Time } from '../../components/values/time.tsx';
import { UrlText } from '../../components/values/url.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link, urlFor } from '../../router.tsx';
import { KindBadge } from './delivery-kind.tsx';
import { StatusBadge } from './delivery-status.tsx';
import { RetractionBadge } from './retraction.tsx';
import { useSlots } from './use-slots.ts';

type TableProps = { deliveries: readonly Delivery[]; busy: boolean; query: URLSearchParams; opened: string | null };

export function DeliveryTable({ deliveries, busy, query, opened }: TableProps) {
  const values = Object.fromEntries(query);
  const slots = useSlots(deliveries.map(({ deliveryId }) => deliveryId));
  return (
    <div class="table-frame">
      <table class="table deliveries" aria-busy={busy}>
        <caption class="visually-hidden">Deliveries</caption>
        <thead>
          <tr>
            <th scope="col" class="column-status">
              Status
            </th>
            <th scope="col" class="column-event">
              Event
            </th>
            <th scope="col" class="column-response">
              Last response
            </th>
            <th scope="col" class="column-attempts">
              Attempts
            </th>
            <SortHead field="dateNextAttempt" label="Next attempt" firstDir="asc" query={query} class="column-next" />
            <SortHead field="dateCreated" label="Accepted" firstDir="desc" query={query} class="column-created" />
          </tr>
        </thead>
        <tbody>
          {deliveries.map((delivery) => (
            <DeliveryRow
              key={slots.get(delivery.deliveryId)}
              delivery={delivery}
              to={urlFor(DASHBOARD_PATHS.deliveries, { ...values, delivery: delivery.deliveryId })}
              opened={delivery.deliveryId === opened}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

type RowProps = { delivery: Delivery; to: string; opened: boolean };

/** The link covers the whole row, see `.row-link` in deliveries.css. */
function DeliveryRow({ delivery, to, opened }: RowProps) {
  const { kind, event, networkId, postUrl, status, attempts, dateNextAttempt, dateCreated } = delivery;
  return (
    <tr class={opened ? 'opened' : ''} id={`row-${delivery.deliveryId}`}>
      <td class="column-status">
        <StatusBadge status={status} /> <KindBadge kind={kind} /> <RetractionBadge event={event} />
      </td>
      <td class="column-event">
        <div class="cut">
          <Link to={to} class="row-link" aria-current={opened ? 'page' : undefined}>
            {event}
          </Link>{' '}
          <span class="small">
            <Network networkId={networkId} />
          </span>
        </div>
        <div class="row-status">
          <StatusBadge status={status} /> <KindBadge kind={kind} /> <RetractionBadge event={event} />
        </div>
        <div class="row-response cut small">
          <LastResponse delivery={delivery} />
        </div>
        <div class="cut small">
          <UrlText url={postUrl} />
        </div>
      </td>
      <td class="column-response">
        <LastResponse delivery={delivery} />
      </td>
      <td class="column-attempts number">{attempts}</td>
      <td class="column-next">
        {dateNextAttempt === null ? <span class="muted">–</span> : <DueTime seconds={dateNextAttempt} />}
      </td>
      <td class="column-created">
        <Time seconds={dateCreated} />
      </td>
    </tr>
  );
}

function LastResponse({ delivery: { lastStatusCode, lastError } }: { delivery: Delivery }) {
  if (lastStatusCode !== null) return <span class="number">HTTP {lastStatusCode}</span>;
  if (lastError !== null) return <span class="cut small">{attemptErrorText(lastError)}</span>;
  return <span class="muted">–</span>;
}
