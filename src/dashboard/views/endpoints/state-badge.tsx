import type { Endpoint } from '../../../client/endpoints.ts';
import { lastFailureText } from '../../../contract/endpoints/last-failure.ts';
import { Badge, type Display } from '../../components/values/badge.tsx';
import { Moment } from '../../components/values/time.tsx';

export const STATE_DISPLAY: Readonly<Record<Endpoint['state'], Display>> = {
  active: { label: 'Active', tone: 'good', icon: 'check' },
  failing: { label: 'Failing', tone: 'bad', icon: 'alert' },
  suspended: { label: 'Suspended', tone: 'bad', icon: 'alert' },
  paused: { label: 'Paused', tone: 'warning', icon: 'pause' },
};

/** The state of an endpoint and, if its requests fail, since when and why. */
export function EndpointState({ endpoint }: { endpoint: Endpoint }) {
  const { state, dateFailingSince, suspendedWebhooks, webhooks, lastSequence } = endpoint;
  const isFailing = state === 'failing';
  const failure = isFailing ? lastFailureText(endpoint) : null;
  return (
    <div class="endpoint-state">
      <Badge {...STATE_DISPLAY[state]} />
      {isFailing && dateFailingSince !== null ? (
        <span class="small muted">
          since <Moment seconds={dateFailingSince} />
        </span>
      ) : null}
      {failure === null ? null : <span class="small error-text">{failure}</span>}
      {suspendedWebhooks > 0 ? (
        <span class="small muted">
          {suspendedWebhooks} of {webhooks} suspended
        </span>
      ) : null}
      {state === 'active' && lastSequence === 0 ? <span class="small muted">No deliveries yet</span> : null}
    </div>
  );
}
