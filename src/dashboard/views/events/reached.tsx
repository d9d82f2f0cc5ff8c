import type { Event } from '../../../client/events/events.ts';
import type { Coverage } from '../../../client/webhooks.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { Badge } from '../../components/values/badge.tsx';
import { countOf } from '../../components/values/count-text.ts';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link, urlFor } from '../../router.tsx';

const NONE_NEEDED = 'Superseded by a later event, a retraction of an unsent event, or not fanned out yet';

/** How many webhooks there are now for the network and the kind of an event. */
export function registeredNow({ networkId, event }: Event, coverage: Coverage | null): number {
  const network = coverage?.networks.find((known) => known.networkId === networkId);
  return network?.events.find((known) => known.event === event)?.webhooks ?? 0;
}

type ReachedProps = { event: Event; registered: number; register: () => void };

/** The webhooks that an event was sent to. */
export function Reached({ event, registered, register }: ReachedProps) {
  const { eventId, deliveries, matched } = event;
  if (deliveries > 0) {
    return <Link to={urlFor(DASHBOARD_PATHS.deliveries, { eventId })}>{countOf(deliveries, 'webhook')}</Link>;
  }
  if (matched) {
    return (
      <span class="muted" title={NONE_NEEDED}>
        None needed
      </span>
    );
  }
  return (
    <div class="event-reached">
      <Badge tone="warning" icon="alert" label="No webhook" />
      {registered > 0 ? (
        <RegisteredSince event={event} registered={registered} />
      ) : (
        <ActionButton
          needs="webhooks:write"
          class="button button-small"
          label="Register a webhook for this"
          onClick={register}
        >
          <Icon name="plus" size={12} />
          <span>
            Register<span class="not-phone"> a webhook</span>
          </span>
        </ActionButton>
      )}
    </div>
  );
}

/** A webhook gets only the events that are accepted after its registration. */
function RegisteredSince({ event: { networkId, event }, registered }: Omit<ReachedProps, 'register'>) {
  return (
    <p class="small">
      <Link to={urlFor(DASHBOARD_PATHS.webhooks, { networkId, event })}>{countOf(registered, 'webhook')}</Link> now{' '}
      {registered === 1 ? 'matches' : 'match'} this kind of event. {registered === 1 ? 'It was' : 'They were'}{' '}
      registered later, so {registered === 1 ? 'it does' : 'they do'} not receive this one.
    </p>
  );
}
