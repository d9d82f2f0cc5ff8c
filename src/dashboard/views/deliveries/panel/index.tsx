import { useEffect, useRef } from 'preact/hooks';
import type { DeliveryDetail } from '../../../../client/deliveries.ts';
import { paybell } from '../../../api.ts';
import { Icon } from '../../../components/icon.tsx';
import { JsonText } from '../../../components/values/json-text.tsx';
import { ApiRequests } from '../../../components/view/api-requests.tsx';
import { Loaded } from '../../../components/view/loaded.tsx';
import { useLiveResponse } from '../../../live.ts';
import { changeQuery } from '../../../router.tsx';
import { KindBadge } from '../delivery-kind.tsx';
import { STATUS_DISPLAY, StatusBadge } from '../delivery-status.tsx';
import { RetractedBadge, RetractionBadge } from '../retraction.tsx';
import { Waiting } from '../waiting.tsx';
import { LastResponse } from './attempt/last-response.tsx';
import { Attempts } from './attempts.tsx';
import { FactSection } from './fact/index.tsx';
import { DeliveryFacts } from './facts.tsx';
import { ResendButton } from './resend-button.tsx';
import { RetractionAlert } from './retraction-alert.tsx';

const POLL_MS = 2_000;

/** One delivery next to the list: its attempts with their responses, the next attempt, and its body. */
export function DeliveryPanel({ deliveryId }: { deliveryId: string }) {
  // The browser revalidates by ETag, so an unchanged delivery is a 304 without a body.
  const response = useLiveResponse(
    deliveryId,
    (signal) => paybell().deliveries.get(deliveryId, { signal }),
    POLL_MS,
    (delivery) => delivery !== null,
  );
  // While the next delivery loads, the panel must not show the previous delivery in its place.
  const data = response.data?.deliveryId === deliveryId ? response.data : null;
  const heading = useFocusOnOpening(deliveryId, data !== null);
  return (
    <aside class="card panel" aria-label="Delivery details">
      <header class="panel-head">
        <button type="button" class="button button-small panel-back" onClick={() => closePanel(deliveryId)}>
          <Icon name="left" size={12} />
          All deliveries
        </button>
        <h2 tabIndex={-1} ref={heading}>
          {data === null ? 'Delivery' : data.event}
        </h2>
        <button
          type="button"
          class="button button-icon panel-close"
          aria-label="Close delivery details"
          title="Close (Esc)"
          onClick={() => closePanel(deliveryId)}
        >
          <Icon name="cross" />
        </button>
      </header>
      <Loaded response={{ ...response, data }} what="delivery">
        {(delivery) => <Details delivery={delivery} reload={response.reload} />}
      </Loaded>
    </aside>
  );
}

/** Returns the focus to the row that opened the panel, for those who use the keyboard. */
export function closePanel(deliveryId: string): void {
  changeQuery({ delivery: null });
  // After the next rendering, because the list is hidden behind a panel that fills the screen.
  requestAnimationFrame(() => {
    const link = document.getElementById(`row-${deliveryId}`)?.querySelector('a');
    link?.focus({ preventScroll: true });
    if (FILLS_SCREEN.matches) link?.scrollIntoView({ block: 'center' });
  });
}

/** The width below which the panel fills the screen instead of standing next to the list, as in deliveries.css. */
const FILLS_SCREEN = matchMedia('(max-width: 68.75rem)');

/** Moves the focus for screen readers and scrolls to a panel that fills the screen. */
function useFocusOnOpening(deliveryId: string, loaded: boolean) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), [deliveryId]);
  // Scrolls again once loaded: before that, the panel is too short to reach the top of the screen.
  useEffect(() => {
    if (FILLS_SCREEN.matches) heading.current?.closest('aside')?.scrollIntoView({ block: 'start' });
  }, [deliveryId, loaded]);
  return heading;
}

type DetailsProps = { delivery: DeliveryDetail; reload: () => Promise<void> };

function Details({ delivery, reload }: DetailsProps) {
  const { status, kind, deliveryId, eventId, event, networkId, body, retractedBy, factId, waitsFor } = delivery;
  return (
    <div class="panel-body">
      <div class="panel-state">
        <StatusBadge status={status} />
        <KindBadge kind={kind} />
        {retractedBy === null ? null : <RetractedBadge />}
        <RetractionBadge event={event} />
        {waitsFor === null ? <span class="small muted">{STATUS_DISPLAY[status].description}</span> : null}
      </div>
      {waitsFor === null ? null : <Waiting delivery={delivery} waits={waitsFor} reload={reload} />}
      <RetractionAlert delivery={delivery} />
      <ResendButton delivery={delivery} reload={reload} />
      <LastResponse delivery={delivery} />
      <DeliveryFacts delivery={delivery} />
      <section>
        <h3>Attempts</h3>
        <Attempts delivery={delivery} />
      </section>
      {factId === null ? null : <FactSection key={factId} {...{ factId, networkId, eventId }} />}
      <JsonText text={body} title="Request body" />
      <ApiRequests
        commands={[
          { path: `/deliveries/${deliveryId}` },
          { method: 'POST', path: `/deliveries/${deliveryId}/redeliver` },
        ]}
      />
    </div>
  );
}
