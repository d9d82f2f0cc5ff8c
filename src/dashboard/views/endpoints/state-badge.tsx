import type { Endpoint } from '../../../client/endpoints.ts';
import type { IconName } from '../../components/icon.tsx';
import { Badge, type Tone } from '../../components/values/badge.tsx';
import { Moment } from '../../components/values/time.tsx';
import { lastFailureText } from './last-failure.ts';

type Display = { readonly label: string; readonly tone: Tone; readonly icon: IconName };

export const STATE_DISPLAY: Readonly<Record<Endpoint['state'], Display>> = {
  active: { label: 'Active', tone: 'good', icon: 'check' },
  suspended: { label: 'Suspended', tone: 'bad', icon: 'alert' },
  paused: { label: 'Paused', tone: 'warning', icon: 'pause' },
};

/** Whether requests to it fail, while it is not out of service. */
export function isFailing({ state, dateFailingSince }: Endpoint): boolean {
  return state === 'active' && dateFailingSince !== null;
}

/** The state, and since when requests to it fail. */
export function EndpointState({ endpoint }: { endpoint: Endpoint }) {
  const { state, dateFailingSince, suspendedWebhooks, webhooks } = endpoint;
  const { label, tone, icon } = STATE_DISPLAY[state];
  const failing = isFailing(endpoint);
  const failure = lastFailureText(endpoint);
  return (
    <div class="endpoint-state">
      {failing ? (
        <Badge tone="bad" icon="alert">
          Failing
        </Badge>
      ) : (
        <Badge tone={tone} icon={icon}>
          {label}
        </Badge>
      )}
      {failing && dateFailingSince !== null ? (
        <span class="small muted">
          since <Moment seconds={dateFailingSince} />
        </span>
      ) : null}
      {failure === null || !failing ? null : <span class="small error-text">{failure}</span>}
      {suspendedWebhooks > 0 ? (
        <span class="small muted">
          {suspendedWebhooks} of {webhooks} suspended
        </span>
      ) : null}
    </div>
  );
}
