import { useEffect, useRef } from 'preact/hooks';
import type { DeliveryDetail } from '../../../../client/deliveries.ts';
import { Icon } from '../../../components/icon.tsx';
import { Curl } from '../../../components/values/copy.tsx';
import { JsonText } from '../../../components/values/json-text.tsx';
import { Failure, Loading } from '../../../components/view/states.tsx';
import { changeQuery } from '../../../router.tsx';
import { STATUS_DISPLAY, StatusBadge } from '../delivery-status.tsx';
import { RetractedBadge, RetractionBadge } from '../retraction.tsx';
import { FactSection } from './fact/index.tsx';
import { Facts } from './facts.tsx';
import { ResendButton } from './resend-button.tsx';
import { RetractionAlert } from './retraction-alert.tsx';
import { Timeline } from './timeline.tsx';
import { useDelivery } from './use-delivery.ts';

/** One delivery next to the list: its attempts with their responses, the next attempt, and its body. */
export function DeliveryPanel({ deliveryId, live }: { deliveryId: string; live: boolean }) {
  const { data, problem, reload } = useDelivery(deliveryId, live);
  const heading = useFocusOnOpening(deliveryId, data !== null);
  return (
    <aside class="card panel" aria-label="Delivery details">
      <header class="panel-head">
        <h2 tabIndex={-1} ref={heading}>
          {data === null ? 'Delivery' : data.event}
        </h2>
        <button
          type="button"
          class="button button-icon"
          aria-label="Close delivery details"
          title="Close (Esc)"
          onClick={() => closePanel(deliveryId)}
        >
          <Icon name="cross" />
        </button>
      </header>
      {data !== null ? (
        <Details delivery={data} live={live} reload={reload} />
      ) : problem !== null ? (
        <Failure problem={problem} reload={reload} />
      ) : (
        <Loading what="delivery" />
      )}
    </aside>
  );
}

/** Returns the focus to the row that opened the panel, for those who use the keyboard. */
export function closePanel(deliveryId: string): void {
  changeQuery({ delivery: null });
  document.getElementById(`row-${deliveryId}`)?.querySelector('a')?.focus({ preventScroll: true });
}

/** The same width as in deliveries.css, below which the panel is under the list instead of next to it. */
const STACKED = matchMedia('(max-width: 64rem)');

/** Moves the focus for screen readers and, on a phone, scrolls to the panel. */
function useFocusOnOpening(deliveryId: string, loaded: boolean) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), [deliveryId]);
  // Scrolls again once loaded: before that, the panel is too short to reach the top of the screen.
  useEffect(() => {
    if (STACKED.matches) heading.current?.closest('aside')?.scrollIntoView({ block: 'start' });
  }, [deliveryId, loaded]);
  return heading;
}

type DetailsProps = { delivery: DeliveryDetail; live: boolean; reload: () => Promise<void> };

function Details({ delivery, live, reload }: DetailsProps) {
  const { status, deliveryId, eventId, event, networkId, body, retractedBy, factId } = delivery;
  return (
    <div class="panel-body">
      <div class="panel-state">
        <StatusBadge status={status} />
        {retractedBy === null ? null : <RetractedBadge />}
        <RetractionBadge event={event} />
        <span class="small muted">{STATUS_DISPLAY[status].description}</span>
      </div>
      <RetractionAlert delivery={delivery} />
      <ResendButton delivery={delivery} reload={reload} />
      <Facts delivery={delivery} />
      <section>
        <h3>Attempts</h3>
        <Timeline delivery={delivery} />
      </section>
      {factId === null ? null : <FactSection {...{ factId, networkId, eventId, live }} />}
      <JsonText text={body} title="Request body" />
      <details>
        <summary>Equivalent API requests</summary>
        <Curl path={`/deliveries/${deliveryId}`} />
        <Curl method="POST" path={`/deliveries/${deliveryId}/redeliver`} />
      </details>
    </div>
  );
}
