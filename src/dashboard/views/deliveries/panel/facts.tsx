import type { DeliveryDetail } from '../../../../client/deliveries.ts';
import { paybell } from '../../../api.ts';
import { CopyButton } from '../../../components/values/copy.tsx';
import { Network } from '../../../components/values/network.tsx';
import { UrlText } from '../../../components/values/url.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { Link, urlFor } from '../../../router.tsx';
import { useResponse } from '../../../use-response.ts';
import { NoFinality } from './fact/no-finality.tsx';

const number = new Intl.NumberFormat();

export function Facts({ delivery }: { delivery: DeliveryDetail }) {
  const { deliveryId, eventId, webhookId, networkId, postUrl, sequence, endpointId, supersededBy, factId, kind } =
    delivery;
  return (
    <dl class="facts">
      {supersededBy === null ? null : <SupersededBy eventId={supersededBy} />}
      <dt>Endpoint</dt>
      <dd>
        <UrlText url={postUrl} />
      </dd>
      <dt>Network</dt>
      <dd>
        <Network networkId={networkId} />
      </dd>
      {factId === null && kind === 'event' ? <NoFinality networkId={networkId} /> : null}
      {sequence === null ? null : (
        <>
          <dt title="Sent as the paybell-sequence header">Number</dt>
          <dd class="number">
            {number.format(sequence)} <span class="muted">of endpoint</span>{' '}
            <code>
              <Link to={urlFor(DASHBOARD_PATHS.endpoints, { postUrl })}>{endpointId}</Link>
            </code>
          </dd>
        </>
      )}
      <Id name="Delivery" id={deliveryId} description="Sent as the webhook-id header" />
      <Id name="Event" id={eventId} to={urlFor(DASHBOARD_PATHS.deliveries, { eventId, delivery: deliveryId })} />
      <Id name="Webhook" id={webhookId} to={urlFor(DASHBOARD_PATHS.webhooks, { webhookId })} />
    </dl>
  );
}

/** With the kind of that event, unless it is past the retention period. */
function SupersededBy({ eventId }: { eventId: string }) {
  const { data } = useResponse(eventId, (signal) => paybell().events.get(eventId, { signal }));
  return (
    <Id
      name="Superseded by"
      id={eventId}
      kind={data?.event}
      description="The event that made this delivery unnecessary"
      to={urlFor(DASHBOARD_PATHS.deliveries, { eventId })}
    />
  );
}

type IdProps = { name: string; id: string; kind?: string | undefined; to?: string; description?: string };

function Id({ name, id, kind, to, description }: IdProps) {
  return (
    <>
      <dt title={description}>{name}</dt>
      <dd class="id">
        <span class="cut">
          {kind} <code>{to === undefined ? id : <Link to={to}>{id}</Link>}</code>
        </span>
        <CopyButton text={id} label={`Copy ${name.toLowerCase()} ID`} compact />
      </dd>
    </>
  );
}
