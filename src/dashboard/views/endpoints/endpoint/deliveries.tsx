import { useState } from 'preact/hooks';
import type { Delivery, DeliveryCounts } from '../../../../client/deliveries.ts';
import { type ApiProblem, ownProblem, paybell } from '../../../api.ts';
import { ActionButton } from '../../../components/action-button.tsx';
import { Icon } from '../../../components/icon.tsx';
import { type Column, createdColumn, DataTable } from '../../../components/lists/data-table.tsx';
import { countText } from '../../../components/values/count-text.ts';
import { Network } from '../../../components/values/network.tsx';
import { PayloadSummary } from '../../../components/values/payload-summary.tsx';
import { PartProblem } from '../../../components/view/loaded.tsx';
import { Section } from '../../../components/view/section.tsx';
import { Loading } from '../../../components/view/states.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { Link, urlFor } from '../../../router.tsx';
import { useResponse } from '../../../use-response.ts';
import { BulkResendDialog } from '../../deliveries/bulk-resend/dialog.tsx';
import { StatusBadge } from '../../deliveries/delivery-status.tsx';
import { LastResponse } from '../../deliveries/table.tsx';

const SHOWN = 10;

/** `said` is the problem that the page already shows. */
type DeliveriesProps = {
  endpointId: string;
  counts: DeliveryCounts | null;
  round: number;
  said: ApiProblem | null;
};

/**
 * The newest deliveries to the endpoint, and a bulk resend of deliveries that failed there or wait for their next
 * attempt.
 */
export function EndpointDeliveries({ endpointId, counts, round, said }: DeliveriesProps) {
  const [resending, setResending] = useState<'failed' | 'retrying' | null>(null);
  const { data, problem } = useResponse(
    endpointId,
    (signal) => paybell().deliveries.list({ endpointId, limit: SHOWN }, { signal }),
    round,
  );
  const { retrying, failed } = counts ?? { retrying: 0, failed: 0 };
  const resends = [
    { status: 'retrying', count: retrying, text: `Send ${countText(retrying)} retrying now` },
    { status: 'failed', count: failed, text: 'Resend failed' },
  ] as const;
  const actions = (
    <div class="actions">
      {resends.map(({ status, count, text }) =>
        count === 0 ? null : (
          <ActionButton
            key={status}
            needs="deliveries:write"
            class="button button-small"
            onClick={() => setResending(status)}
          >
            <Icon name="retry" size={12} />
            {text}
          </ActionButton>
        ),
      )}
      <Link to={urlFor(DASHBOARD_PATHS.reconciliation, { endpointId })} class="button button-small">
        Reconcile a day
      </Link>
      <Link to={urlFor(DASHBOARD_PATHS.deliveries, { endpointId })} class="button button-small">
        {data === null ? 'Show all' : `Show all ${countText(data.totalResults)}`}
      </Link>
    </div>
  );
  return (
    <Section title="Newest deliveries" actions={actions}>
      {data === null && problem === null ? <Loading what="deliveries" /> : null}
      <PartProblem problem={ownProblem(problem, said)} what="Deliveries" />
      {data === null ? null : data.deliveries.length === 0 ? (
        <p class="muted small">Nothing was sent to this endpoint yet.</p>
      ) : (
        <DataTable
          name="endpoint-deliveries"
          caption="Newest deliveries"
          columns={columnsOf(endpointId)}
          rows={data.deliveries}
          keyOf={({ deliveryId }) => deliveryId}
        />
      )}
      {resending === null ? null : (
        <BulkResendDialog initial={{ endpointId, status: resending }} onClose={() => setResending(null)} />
      )}
    </Section>
  );
}

function columnsOf(endpointId: string): readonly Column<Delivery>[] {
  return [
    {
      name: 'status',
      header: 'Status',
      width: '8rem',
      narrow: { below: 'tiny', line: 'cell' },
      cell: ({ status }) => <StatusBadge status={status} />,
    },
    {
      name: 'event',
      header: 'Event',
      width: 'rest',
      cell: ({ deliveryId, event, networkId, summary }) => (
        <>
          <div class="event-head">
            <Link to={urlFor(DASHBOARD_PATHS.deliveries, { endpointId, delivery: deliveryId })}>{event}</Link>
            <PayloadSummary summary={summary} />
          </div>
          <div class="small">
            <Network networkId={networkId} />
          </div>
        </>
      ),
    },
    {
      name: 'response',
      header: 'Last response',
      width: '10rem',
      narrow: { below: 'small' },
      cell: (delivery) => <LastResponse delivery={delivery} />,
    },
    createdColumn('Accepted', { narrowWidth: '6.5rem' }),
  ];
}
