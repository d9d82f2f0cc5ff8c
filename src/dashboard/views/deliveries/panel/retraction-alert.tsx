import type { DeliveryDetail } from '../../../../client/deliveries.ts';
import { RETRACTION } from '../../../../domain/event-kinds.ts';
import { Icon } from '../../../components/icon.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { Link, urlFor } from '../../../router.tsx';
import { readRetracts } from '../retraction.tsx';

/** Says that the event was taken back, or which event this one takes back. */
export function RetractionAlert({ delivery: { event, body, retractedBy } }: { delivery: DeliveryDetail }) {
  if (retractedBy !== null) return <RetractedBy eventId={retractedBy} />;
  return event === RETRACTION ? <TakesBack body={body} /> : null;
}

function RetractedBy({ eventId }: { eventId: string }) {
  return (
    <div class="alert alert-bad">
      <Icon name="undo" />
      <p>
        <strong>Retracted.</strong> What this event says is not true any more.{' '}
        <Link to={urlFor(DASHBOARD_PATHS.deliveries, { eventId })}>Show the retraction</Link>
      </p>
    </div>
  );
}

const REASONS: Readonly<Record<string, string>> = {
  reorg: 'The network no longer has its transaction.',
  sender: 'Its sender took it back.',
};

function TakesBack({ body }: { body: string }) {
  const retracts = readRetracts(body);
  if (retracts === null) return null;
  const { eventId, event, reason } = retracts;
  return (
    <div class="alert alert-bad">
      <Icon name="undo" />
      <p class="takes-back">
        <strong>Takes back {event ?? 'an event'}</strong>{' '}
        <code>
          <Link to={urlFor(DASHBOARD_PATHS.deliveries, { eventId })}>{eventId}</Link>
        </code>
        . {REASONS[reason ?? ''] ?? 'What it said is not true any more.'}
      </p>
    </div>
  );
}
