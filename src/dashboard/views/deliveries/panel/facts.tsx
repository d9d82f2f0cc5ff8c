import type { DeliveryDetail } from '../../../../client/deliveries.ts';
import { CopyButton } from '../../../components/values/copy.tsx';
import { Network } from '../../../components/values/network.tsx';
import { UrlText } from '../../../components/values/url.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { Link, urlFor } from '../../../router.tsx';

export function Facts({
  delivery: { deliveryId, eventId, webhookId, networkId, postUrl },
}: {
  delivery: DeliveryDetail;
}) {
  return (
    <dl class="facts">
      <dt>Endpoint</dt>
      <dd>
        <UrlText url={postUrl} />
      </dd>
      <dt>Network</dt>
      <dd>
        <Network networkId={networkId} />
      </dd>
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
