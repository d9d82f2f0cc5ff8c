import type { DeliveryDetail } from '../../../../client/deliveries.ts';
import { paybell } from '../../../api.ts';
import { countText } from '../../../components/values/count-text.ts';
import { CopiedId, Facts } from '../../../components/values/facts.tsx';
import { Network } from '../../../components/values/network.tsx';
import { UrlText } from '../../../components/values/url.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { Link, urlFor } from '../../../router.tsx';
import { useResponse } from '../../../use-response.ts';
import { useNoFinality } from './fact/no-finality.ts';

export function DeliveryFacts({ delivery }: { delivery: DeliveryDetail }) {
  const { deliveryId, eventId, webhookId, networkId, postUrl, sequence, endpointId, supersededBy, factId, kind } =
    delivery;
  const noFinality = useNoFinality(factId === null && kind === 'event' ? networkId : null);
  const number = (
    <span class="number" title="Sent as the paybell-sequence header">
      {countText(sequence)} <span class="muted">of endpoint</span>{' '}
      <code>
        <Link to={urlFor(DASHBOARD_PATHS.endpoints, { postUrl })}>{endpointId}</Link>
      </code>
    </span>
  );
  return (
    <Facts
      of={{
        'Superseded by': supersededBy === null ? null : <SupersededBy eventId={supersededBy} />,
        Endpoint: <UrlText url={postUrl} />,
        Network: <Network networkId={networkId} />,
        Finality: noFinality === null ? null : <span class="muted">{noFinality}</span>,
        Sequence: sequence === null ? null : number,
        Delivery: <CopiedId id={deliveryId} what="delivery ID" title="Sent as the webhook-id header" />,
        Event: (
          <CopiedId id={eventId} what="event ID">
            <Link to={urlFor(DASHBOARD_PATHS.deliveries, { eventId, delivery: deliveryId })}>{eventId}</Link>
          </CopiedId>
        ),
        Webhook: (
          <CopiedId id={webhookId} what="webhook ID">
            <Link to={urlFor(DASHBOARD_PATHS.webhooks, { webhookId })}>{webhookId}</Link>
          </CopiedId>
        ),
      }}
    />
  );
}

/** The event that made the delivery unnecessary, with its kind unless it is past the retention period. */
function SupersededBy({ eventId }: { eventId: string }) {
  const { data } = useResponse(eventId, (signal) => paybell().events.get(eventId, { signal }));
  return (
    <>
      {data?.event}{' '}
      <CopiedId id={eventId} what="superseded by ID">
        <Link to={urlFor(DASHBOARD_PATHS.deliveries, { eventId })}>{eventId}</Link>
      </CopiedId>
    </>
  );
}
