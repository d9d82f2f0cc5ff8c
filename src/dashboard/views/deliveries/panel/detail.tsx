import { useEffect, useRef, useState } from 'preact/hooks';
import type { DeliveryDetail } from '../../../../client/types.ts';
import { type ApiProblem, asProblem, paybell } from '../../../api.ts';
import { ActionButton } from '../../../components/action-button.tsx';
import { Icon } from '../../../components/icon.tsx';
import { Failure, Loading, Notice } from '../../../components/lists/states.tsx';
import { CopyButton, Curl } from '../../../components/values/copy.tsx';
import { JsonText } from '../../../components/values/json-text.tsx';
import { Network } from '../../../components/values/network.tsx';
import { Address } from '../../../components/values/url.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { addressOf, changeQuery, Link } from '../../../router.tsx';
import { STATUS_LOOKS, StatusBadge } from '../delivery-status.tsx';
import { TimeLine } from './timeline.tsx';
import { useDelivery } from './use-delivery.ts';

/** One delivery beside the list: what was sent, what came back each time, and what comes next. */
export function DeliveryPanel({ deliveryId, live }: { deliveryId: string; live: boolean }) {
  const { data, problem, again } = useDelivery(deliveryId, live);
  const heading = useFocusOnOpening(deliveryId, data !== null);
  return (
    <aside class="card panel" aria-label="The opened delivery">
      <header class="panel-head">
        <h2 tabIndex={-1} ref={heading}>
          {data === null ? 'Delivery' : data.event}
        </h2>
        <button
          type="button"
          class="button button-icon"
          aria-label="Close the delivery"
          title="Close (Escape)"
          onClick={() => closePanel(deliveryId)}
        >
          <Icon name="cross" />
        </button>
      </header>
      {data !== null ? (
        <Opened delivery={data} again={again} />
      ) : problem !== null ? (
        <Failure problem={problem} again={again} />
      ) : (
        <Loading what="the delivery" />
      )}
    </aside>
  );
}

/** Whoever works by keyboard goes on from the row that led here. */
export function closePanel(deliveryId: string): void {
  changeQuery({ delivery: null });
  document.getElementById(`row-${deliveryId}`)?.querySelector('a')?.focus({ preventScroll: true });
}

/** Where there is no room beside the list, as in the style sheet. */
const BELOW = matchMedia('(max-width: 64rem)');

/** A screen reader follows the focus; on a phone the panel stands below the list and has to be brought into view. */
function useFocusOnOpening(deliveryId: string, filled: boolean) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), [deliveryId]);
  // Once more when it is filled: before that it is too short to reach the top.
  useEffect(() => {
    if (BELOW.matches) heading.current?.closest('aside')?.scrollIntoView({ block: 'start' });
  }, [deliveryId, filled]);
  return heading;
}

function Opened({ delivery, again }: { delivery: DeliveryDetail; again: () => Promise<void> }) {
  const { status, deliveryId, body } = delivery;
  return (
    <div class="panel-body">
      <div class="panel-state">
        <StatusBadge status={status} />
        <span class="small muted">{STATUS_LOOKS[status].about}</span>
      </div>
      <SendAgain delivery={delivery} again={again} />
      <Facts delivery={delivery} />
      <section>
        <h3>Attempts</h3>
        <TimeLine delivery={delivery} />
      </section>
      <JsonText text={body} what="Body" />
      <details>
        <summary>The same from a terminal</summary>
        <Curl path={`/deliveries/${deliveryId}`} />
        <Curl method="POST" path={`/deliveries/${deliveryId}/redeliver`} />
      </details>
    </div>
  );
}

const LOOK_AGAIN_MS = 500;
const LOOKS = 30;

/** Pressed, it says so until the attempt is seen, whatever came of it. */
function SendAgain({ delivery, again }: { delivery: DeliveryDetail; again: () => Promise<void> }) {
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [sentAt, setSentAt] = useState<number | null>(null);
  const made = delivery.attemptLog.length;
  const waiting = sentAt !== null && made <= sentAt;

  useEffect(() => {
    if (!waiting) return;
    let looks = 0;
    const timer = setInterval(() => {
      looks += 1;
      if (looks > LOOKS) setSentAt(null);
      else void again();
    }, LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [waiting, again]);

  const send = async () => {
    setProblem(null);
    setSentAt(made);
    try {
      await paybell().deliveries.redeliver(delivery.deliveryId);
    } catch (error) {
      setSentAt(null);
      setProblem(asProblem(error));
    }
  };
  return (
    <>
      {problem === null ? null : <Notice problem={problem} />}
      <div>
        <ActionButton needs="deliveries:write" disabled={waiting} onClick={() => void send()}>
          <Icon name="deliveries" size={14} />
          {waiting ? 'Sending…' : 'Send again'}
        </ActionButton>
        <span class="visually-hidden" role="status">
          {sentAt !== null && !waiting ? 'It was sent again' : ''}
        </span>
      </div>
    </>
  );
}

function Facts({ delivery: { deliveryId, eventId, webhookId, networkId, postUrl } }: { delivery: DeliveryDetail }) {
  return (
    <dl class="facts">
      <dt>Posts to</dt>
      <dd>
        <Address url={postUrl} />
      </dd>
      <dt>Network</dt>
      <dd>
        <Network networkId={networkId} />
      </dd>
      <Id name="Delivery" id={deliveryId} about="also the webhook-id of every post" />
      <Id name="Event" id={eventId} to={addressOf(DASHBOARD_PATHS.deliveries, { eventId, delivery: deliveryId })} />
      <Id name="Webhook" id={webhookId} to={addressOf(DASHBOARD_PATHS.webhooks, { webhookId })} />
    </dl>
  );
}

function Id({ name, id, to, about }: { name: string; id: string; to?: string; about?: string }) {
  return (
    <>
      <dt title={about}>{name}</dt>
      <dd class="id">
        <code class="cut">{to === undefined ? id : <Link to={to}>{id}</Link>}</code>
        <CopyButton text={id} label={`Copy the ${name.toLowerCase()}’s id`} compact />
      </dd>
    </>
  );
}
