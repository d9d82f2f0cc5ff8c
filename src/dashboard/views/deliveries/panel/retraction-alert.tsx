import type { DeliveryDetail } from '../../../../client/deliveries.ts';
import { RETRACTION } from '../../../../domain/event-kinds.ts';
import { Icon } from '../../../components/icon.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { Link, urlFor } from '../../../router.tsx';
import { readRetracts } from '../retraction.tsx';

/** Says that the event was retracted, or which event this one retracts. */
export function RetractionAlert({ delivery: { event, body, retractedBy } }: { delivery: DeliveryDetail }) {
  if (retractedBy !== null) return <RetractedBy eventId={retractedBy} />;
  return event === RETRACTION ? <Retraction body={body} /> : null;
}

function RetractedBy({ eventId }: { eventId: string }) {
  return (
    <div class="alert alert-bad">
      <Icon name="undo" />
      <p>
        <strong>Retracted.</strong> This payment is no longer on the chain, or its sender withdrew it.{' '}
        <Link to={urlFor(DASHBOARD_PATHS.deliveries, { eventId })}>Show the retraction</Link>
      </p>
    </div>
  );
}

const REASONS: Readonly<Record<string, string>> = {
  reorg: 'The network no longer has its transaction.',
  not_on_chain: 'Most nodes of the network do not have its transaction.',
  sender: 'The sender withdrew it.',
};

function Retraction({ body }: { body: string }) {
  const retracts = readRetracts(body);
  if (retracts === null) return null;
  const { eventId, event, reason } = retracts;
  return (
    <div class="alert alert-bad">
      <Icon name="undo" />
      <p class="retracts">
        <strong>Retracts {event ?? 'an event'}</strong>{' '}
        <code>
          <Link to={urlFor(DASHBOARD_PATHS.deliveries, { eventId })}>{eventId}</Link>
        </code>
        . {REASONS[reason ?? ''] ?? 'Its payment no longer counts.'}
      </p>
    </div>
  );
}
