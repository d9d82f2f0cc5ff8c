import { useState } from 'preact/hooks';
import type { Delivery, DeliveryCounts } from '../../../../client/deliveries.ts';
import { attemptErrorText } from '../../../../contract/attempt-error-text.ts';
import { type ApiProblem, ownProblem, paybell } from '../../../api.ts';
import { ActionButton } from '../../../components/action-button.tsx';
import { Icon } from '../../../components/icon.tsx';
import { Network } from '../../../components/values/network.tsx';
import { Time } from '../../../components/values/time.tsx';
import { Loading, NotShown, ProblemAlert } from '../../../components/view/states.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { Link, urlFor } from '../../../router.tsx';
import { useResponse } from '../../../use-response.ts';
import { BulkResendDialog } from '../../deliveries/bulk-resend/dialog.tsx';
import { StatusBadge } from '../../deliveries/delivery-status.tsx';

const SHOWN = 10;
const number = new Intl.NumberFormat();

/** `said` is the problem that the page says already. */
type DeliveriesProps = {
  endpointId: string;
  counts: DeliveryCounts | null;
  round: number;
  said: ApiProblem | null;
};

/** The newest deliveries to the endpoint, and the bulk resend of what failed there or waits for its next attempt. */
export function EndpointDeliveries({ endpointId, counts, round, said }: DeliveriesProps) {
  const [resending, setResending] = useState<'failed' | 'retrying' | null>(null);
  const { data, problem } = useResponse(
    endpointId,
    (signal) => paybell().deliveries.list({ endpointId, limit: SHOWN }, { signal }),
    round,
  );
  const own = ownProblem(problem, said);
  const { retrying, failed } = counts ?? { retrying: 0, failed: 0 };
  return (
    <section class="endpoint-section" aria-labelledby="deliveries-heading">
      <div class="section-head">
        <h2 id="deliveries-heading">Newest deliveries</h2>
        <div class="actions">
          {retrying === 0 ? null : (
            <ActionButton needs="deliveries:write" class="button button-small" onClick={() => setResending('retrying')}>
              <Icon name="retry" size={12} />
              Send {number.format(retrying)} retrying now
            </ActionButton>
          )}
          {failed === 0 ? null : (
            <ActionButton needs="deliveries:write" class="button button-small" onClick={() => setResending('failed')}>
              <Icon name="retry" size={12} />
              Resend failed
            </ActionButton>
          )}
          <Link to={urlFor(DASHBOARD_PATHS.deliveries, { endpointId })} class="button button-small">
            {data === null ? 'Show all' : `Show all ${number.format(data.totalResults)}`}
          </Link>
        </div>
      </div>
      {data === null && problem === null ? <Loading what="deliveries" /> : null}
      {own === null ? null : own.permission === null ? (
        <ProblemAlert problem={own} />
      ) : (
        <NotShown what="Deliveries" permission={own.permission} />
      )}
      {data === null ? null : data.deliveries.length === 0 ? (
        <p class="muted small">Nothing was sent to this endpoint yet.</p>
      ) : (
        <DeliveryRows endpointId={endpointId} deliveries={data.deliveries} />
      )}
      {resending === null ? null : (
        <BulkResendDialog initial={{ endpointId, status: resending }} onClose={() => setResending(null)} />
      )}
    </section>
  );
}

function DeliveryRows({ endpointId, deliveries }: { endpointId: string; deliveries: readonly Delivery[] }) {
  return (
    <div class="table-frame">
      <table class="table endpoint-deliveries">
        <caption class="visually-hidden">Newest deliveries</caption>
        <thead>
          <tr>
            <th scope="col">Status</th>
            <th scope="col">Event</th>
            <th scope="col" class="not-phone">
              Last response
            </th>
            <th scope="col">Accepted</th>
          </tr>
        </thead>
        <tbody>
          {deliveries.map(({ deliveryId, status, event, networkId, lastStatusCode, lastError, dateCreated }) => (
            <tr key={deliveryId}>
              <td>
                <StatusBadge status={status} />
              </td>
              <td>
                <Link to={urlFor(DASHBOARD_PATHS.deliveries, { endpointId, delivery: deliveryId })}>{event}</Link>{' '}
                <span class="small">
                  <Network networkId={networkId} />
                </span>
              </td>
              <td class="not-phone">{lastStatusCode ?? (lastError === null ? '–' : attemptErrorText(lastError))}</td>
              <td>
                <Time seconds={dateCreated} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
