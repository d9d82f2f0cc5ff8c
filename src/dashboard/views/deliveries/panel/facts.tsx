import type { DeliveryDetail } from '../../../../client/deliveries.ts';
import { CopyButton } from '../../../components/values/copy.tsx';
import { Network } from '../../../components/values/network.tsx';
import { UrlText } from '../../../components/values/url.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { Link, urlFor } from '../../../router.tsx';

const number = new Intl.NumberFormat();

export function Facts({ delivery }: { delivery: DeliveryDetail }) {
  const { deliveryId, eventId, webhookId, networkId, postUrl, sequence, endpointId, supersededBy } = delivery;
  return (
    <dl class="facts">
      {supersededBy === null ? null : (
        <Id
          name="Superseded by"
          id={supersededBy}
          description="The event that made this delivery unnecessary"
          to={urlFor(DASHBOARD_PATHS.deliveries, { eventId: supersededBy })}
        />
      )}
      <dt>Endpoint</dt>
      <dd>
        <UrlText url={postUrl} />
      </dd>
      <dt>Network</dt>
      <dd>
        <Network networkId={networkId} />
      </dd>
      {sequence === null ? null : (
        <>
          <dt title="Sent as the paybell-sequence header">Number</dt>
          <dd class="number">
            {number.format(sequence)} <span class="muted">of endpoint</span> <code>{endpointId}</code>
          </dd>
        </>
      )}
      <Id name="Delivery" id={deliveryId} description="Sent as the webhook-id header" />
      <Id name="Event" id={eventId} to={urlFor(DASHBOARD_PATHS.deliveries, { eventId, delivery: deliveryId })} />
      <Id name="Webhook" id={webhookId} to={urlFor(DASHBOARD_PATHS.webhooks, { webhookId })} />
    </dl>
  );
}

function Id({ name, id, to, description }: { name: string; id: string; to?: string; description?: string }) {
  return (
    <>
      <dt title={description}>{name}</dt>
      <dd class="id">
        <code class="cut">{to === undefined ? id : <Link to={to}>{id}</Link>}</code>
        <CopyButton text={id} label={`Copy ${name.toLowerCase()} ID`} compact />
      </dd>
    </>
  );
}
