import type { FactEvent } from '../../../../../client/chain/facts.ts';
import { finalityOf } from '../../../../../domain/chain/finality.ts';
import { RETRACTION } from '../../../../../domain/event-kinds.ts';
import { countOf } from '../../../../components/values/count-text.ts';
import { finalityWords } from '../../../../components/values/finality-words.ts';
import { DASHBOARD_PATHS } from '../../../../paths.ts';
import { Link, urlFor } from '../../../../router.tsx';
import { RetractionBadge } from '../../retraction.tsx';

/** The events that were made of a fact. `current` is the event of the open delivery. */
export function FactEvents({ events, current }: { events: readonly FactEvent[]; current: string }) {
  if (events.length === 0) return null;
  return (
    <>
      <h4>Its events</h4>
      <ul class="fact-events small">
        {events.map((event, index) => (
          <li key={event.eventId ?? index}>
            <EventName event={event} current={current} />
            <RetractionBadge event={event.event} />
            <span class="muted">{detailOf(event)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function EventName({ event: { eventId, event }, current }: { event: FactEvent; current: string }) {
  if (eventId === null || eventId === current) return <strong>{event}</strong>;
  return <Link to={urlFor(DASHBOARD_PATHS.deliveries, { eventId })}>{event}</Link>;
}

function detailOf({ eventId, event, finality, revision, totalDeliveries }: FactEvent): string {
  const parts = [
    event === RETRACTION ? null : finalityWords(finalityOf(finality)),
    revision > 1 ? `revision ${revision}` : null,
    eventId === null ? 'not accepted yet' : countOf(totalDeliveries, 'delivery', 'deliveries'),
  ];
  return parts.filter((part) => part !== null).join(' · ');
}
