import type { Endpoint, EndpointList } from '../../../../client/endpoints.ts';
import { lastFailureText } from '../../../../contract/endpoints/last-failure.ts';
import { countOf, countText } from '../../../components/values/count-text.ts';
import { Moment } from '../../../components/values/time.tsx';
import { DASHBOARD_PATHS, endpointPath } from '../../../paths.ts';
import { urlFor } from '../../../router.tsx';
import { AttentionItem } from './item.tsx';
import type { UnhealthyEndpoints } from './use-attention.ts';

export function EndpointItems({ suspended, failing }: UnhealthyEndpoints) {
  return (
    <>
      {suspended.endpoints.map((endpoint) => (
        <AttentionItem key={endpoint.endpointId} tone="bad" icon="alert" action={toEndpoint(endpoint)}>
          <strong>{nameOf(endpoint)}</strong> {suspendedText(endpoint)}. {waitingText(endpoint.waiting, 'held')}
        </AttentionItem>
      ))}
      <Others list={suspended} state="suspended" />
      {failing.endpoints.map((endpoint) => (
        <AttentionItem key={endpoint.endpointId} tone="bad" icon="alert" action={toEndpoint(endpoint)}>
          <strong>{nameOf(endpoint)}</strong> has been failing
          <Since seconds={endpoint.dateFailingSince} />
          {failureText(endpoint)}. {waitingText(endpoint.waiting, 'waiting')}
        </AttentionItem>
      ))}
      <Others list={failing} state="failing" />
    </>
  );
}

/** The paused endpoints that have held deliveries. Other paused endpoints need no attention. */
export function holding(paused: EndpointList | null): readonly Endpoint[] {
  return (paused?.endpoints ?? []).filter(({ waiting }) => waiting > 0);
}

export function PausedItems({ paused }: { paused: EndpointList }) {
  const held = holding(paused);
  return (
    <>
      {held.map((endpoint) => (
        <AttentionItem key={endpoint.endpointId} tone="warning" icon="pause" action={toEndpoint(endpoint)}>
          <strong>{nameOf(endpoint)}</strong> is paused. {waitingText(endpoint.waiting, 'held')}
        </AttentionItem>
      ))}
      {held.length === paused.endpoints.length ? <Others list={paused} state="paused" /> : null}
    </>
  );
}

function nameOf({ name, postUrl }: Endpoint): string {
  return name ?? postUrl;
}

function toEndpoint({ endpointId }: Endpoint) {
  return { label: 'Open endpoint', to: endpointPath(endpointId) };
}

function suspendedText({ webhooks, suspendedWebhooks }: Endpoint): string {
  if (suspendedWebhooks === webhooks) return 'is suspended';
  return `has ${countText(suspendedWebhooks)} of ${countText(webhooks)} webhooks suspended`;
}

function Since({ seconds }: { seconds: number | null }) {
  if (seconds === null) return null;
  return (
    <>
      {' '}
      since <Moment seconds={seconds} />
    </>
  );
}

function failureText(endpoint: Endpoint): string {
  const text = lastFailureText(endpoint);
  return text === null ? '' : ` (${text})`;
}

function waitingText(waiting: number, word: string): string {
  if (waiting === 0) return '';
  return `${countOf(waiting, 'delivery is', 'deliveries are')} ${word}.`;
}

/** The number of endpoints that are not named, with a link to the list of all. */
function Others({ list, state }: { list: EndpointList; state: Endpoint['state'] }) {
  const others = list.totalResults - list.endpoints.length;
  if (others <= 0) return null;
  const to = urlFor(DASHBOARD_PATHS.endpoints, { state });
  return (
    <AttentionItem
      tone={state === 'paused' ? 'warning' : 'bad'}
      icon={state === 'paused' ? 'pause' : 'alert'}
      action={{ label: `Show all ${countText(list.totalResults)}`, to }}
    >
      {countOf(others, 'more endpoint is', 'more endpoints are')} {state}.
    </AttentionItem>
  );
}
