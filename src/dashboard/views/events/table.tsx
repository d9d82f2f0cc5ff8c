import { useState } from 'preact/hooks';
import type { Event } from '../../../client/events/events.ts';
import type { Coverage } from '../../../client/webhooks.ts';
import { summaryOf } from '../../../domain/chain/payload-summary.ts';
import { Icon } from '../../components/icon.tsx';
import { type Column, createdColumn, DataTable } from '../../components/lists/data-table.tsx';
import type { ListState } from '../../components/lists/use-list.ts';
import { Breakable } from '../../components/values/breakable.tsx';
import { CopyButton } from '../../components/values/copy.tsx';
import { JsonText } from '../../components/values/json-text.tsx';
import { Network } from '../../components/values/network.tsx';
import { PayloadSummary } from '../../components/values/payload-summary.tsx';
import { RetractedBadge, RetractionBadge } from '../deliveries/retraction.tsx';
import { Reached, registeredNow } from './reached.tsx';

type TableProps = {
  events: readonly Event[];
  /** Null if it is not known. */
  coverage: Coverage | null;
  busy: boolean;
  list: ListState;
  onRegister: (event: Event) => void;
};

export function EventTable({ events, coverage, busy, list, onRegister }: TableProps) {
  const [opened, setOpened] = useState<string | null>(null);
  const columns: Column<Event>[] = [
    { name: 'event', header: 'Event', width: 'rest', cell: (event) => <EventName event={event} /> },
    {
      name: 'reached',
      header: 'Sent to',
      width: '12rem',
      narrowWidth: '7.5rem',
      cell: (event) => (
        <Reached event={event} registered={registeredNow(event, coverage)} register={() => onRegister(event)} />
      ),
    },
    createdColumn('Accepted', { sort: 'desc', width: '8.5rem', narrow: { below: 'medium', line: 'cell' } }),
    {
      name: 'payload',
      header: 'Payload',
      isHeaderHidden: true,
      width: '7.5rem',
      narrowWidth: '3.5rem',
      align: 'end',
      cell: ({ eventId }) => (
        <button
          type="button"
          class="button button-small"
          aria-expanded={eventId === opened}
          onClick={() => setOpened(eventId === opened ? null : eventId)}
        >
          <span class="not-phone">Payload</span>
          <span class="visually-hidden">Payload of {eventId}</span>
          <Icon name={eventId === opened ? 'up' : 'down'} size={12} />
        </button>
      ),
    },
  ];
  return (
    <DataTable
      name="events"
      caption="Events"
      columns={columns}
      rows={events}
      keyOf={({ eventId }) => eventId}
      rowClass={({ matched }) => (matched ? '' : 'row-warning')}
      detail={({ eventId, body }) =>
        eventId !== opened
          ? null
          : { class: 'event-payload', content: <JsonText text={body} title="Payload" heading="h2" /> }
      }
      {...{ busy, list }}
    />
  );
}

function EventName({ event: { eventId, event, networkId, body, retractedBy } }: { event: Event }) {
  return (
    <>
      <div class="event-head">
        <strong>
          <Breakable event={event} />
        </strong>
        <PayloadSummary summary={summaryOf(body, networkId)} />
        <RetractionBadge event={event} />
        {retractedBy === null ? null : <RetractedBadge />}
      </div>
      <div class="event-id small">
        <Network networkId={networkId} />
        <span>
          <code title={eventId}>{eventId}</code>
          <CopyButton text={eventId} label="Copy event ID" compact />
        </span>
      </div>
    </>
  );
}
