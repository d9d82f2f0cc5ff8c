import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import type { Event } from '../../../client/events/events.ts';
import type { Coverage } from '../../../client/webhooks.ts';
import { Icon } from '../../components/icon.tsx';
import { SortHead } from '../../components/lists/sort-head.tsx';
import { CopyButton } from '../../components/values/copy.tsx';
import { JsonText } from '../../components/values/json-text.tsx';
import { Network } from '../../components/values/network.tsx';
import { Time } from '../../components/values/time.tsx';
import { RetractedBadge, RetractionBadge } from '../deliveries/retraction.tsx';
import { Reached, registeredNow } from './reached.tsx';

type TableProps = {
  events: readonly Event[];
  /** Null where it is not known. */
  coverage: Coverage | null;
  busy: boolean;
  query: URLSearchParams;
  onRegister: (event: Event) => void;
};

export function EventTable({ events, coverage, busy, query, onRegister }: TableProps) {
  const [opened, setOpened] = useState<string | null>(null);
  return (
    <div class="table-frame">
      <table class="table events" aria-busy={busy}>
        <caption class="visually-hidden">Events</caption>
        <thead>
          <tr>
            <th scope="col">Event</th>
            <th scope="col" class="column-reached">
              Sent to
            </th>
            <SortHead field="dateCreated" label="Accepted" firstDir="desc" query={query} class="column-accepted" />
            <th scope="col" class="column-payload">
              <span class="visually-hidden">Payload</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {events.map((event) => (
            <EventRow
              key={event.eventId}
              event={event}
              registered={registeredNow(event, coverage)}
              isOpen={event.eventId === opened}
              toggle={() => setOpened(event.eventId === opened ? null : event.eventId)}
              register={() => onRegister(event)}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

type RowProps = {
  event: Event;
  registered: number;
  isOpen: boolean;
  toggle: () => void;
  register: () => void;
};

function EventRow({ event: accepted, registered, isOpen, toggle, register }: RowProps) {
  const { eventId, event, networkId, body, matched, retractedBy, dateCreated } = accepted;
  return (
    <>
      <tr class={matched ? '' : 'event-unmatched'}>
        <td>
          <div class="event-head">
            <strong>{breakable(event)}</strong>
            <span class="small">
              <Network networkId={networkId} />
            </span>
            <RetractionBadge event={event} />
            {retractedBy === null ? null : <RetractedBadge />}
          </div>
          <div class="event-id small">
            <code class="cut" title={eventId}>
              {eventId}
            </code>
            <CopyButton text={eventId} label="Copy event ID" compact />
          </div>
        </td>
        <td class="column-reached">
          <Reached event={accepted} registered={registered} register={register} />
        </td>
        <td class="column-accepted">
          <Time seconds={dateCreated} />
        </td>
        <td class="column-payload">
          <button type="button" class="button button-small" aria-expanded={isOpen} onClick={toggle}>
            <span class="not-phone">Payload</span>
            <span class="visually-hidden">Payload of {eventId}</span>
            <Icon name={isOpen ? 'up' : 'down'} size={12} />
          </button>
        </td>
      </tr>
      {isOpen ? (
        <tr class="event-payload">
          <td colSpan={4}>
            <JsonText text={body} title="Payload" heading="h2" />
          </td>
        </tr>
      ) : null}
    </>
  );
}

/** Between the words of a name such as `AgreementCancelled`, where a narrow screen may break the line. */
function breakable(kind: string) {
  return kind.split(/(?=[A-Z])/).map((word, index) => (
    <Fragment key={index}>
      {index === 0 ? null : <wbr />}
      {word}
    </Fragment>
  ));
}
