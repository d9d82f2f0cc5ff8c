import { z } from 'zod';
import { MAX_NETWORK_ID } from '../../domain/networks.ts';
import { eventFilter, exactText, oneOf, pagingFields, textOf, unixSeconds, wholeNumber } from '../list-query.ts';
import { count, date } from '../values.ts';

/** Accepted events, as the API shows them. */

export const exampleBody = '{"eventId":"transfer-8412-finalized","event":"TransferFinalized","networkId":8453}';

const eventExample = {
  eventId: 'transfer-8412-finalized',
  event: 'TransferFinalized',
  networkId: 8453,
  body: exampleBody,
  dateCreated: 1763168400,
  deliveries: 2,
  matched: true,
  retractedBy: null,
};

export const retractedBy = z.string().nullable().meta({
  description: 'Event that retracted this one. Null if it was not retracted.',
});

export const eventSchema = z
  .strictObject({
    eventId: z.string().meta({ description: 'Unique identifier of the event within the entity.' }),
    event: z.string().meta({ description: 'Event kind.' }),
    networkId: z.int().meta({ description: 'Network of the event.' }),
    body: z.string().meta({ description: 'The payload, byte for byte as it was received.' }),
    dateCreated: date('When the event was accepted'),
    deliveries: count.meta({ description: 'Number of webhooks that matched the event.' }),
    matched: z.boolean().meta({
      description:
        'False for an event that reached no webhook. True also for one that has no deliveries and needs none, or none ' +
        'yet: it was superseded, it is a retraction, or its deliveries are still to come.',
    }),
    retractedBy,
  })
  .meta({ id: 'Event', description: 'An accepted event.', example: eventExample });

export type Event = z.output<typeof eventSchema>;

export const eventListSchema = z
  .strictObject({ totalResults: count, events: z.array(eventSchema) })
  .meta({ id: 'EventList', example: { totalResults: 1, events: [eventExample] } });

const dateFilters = {
  since: unixSeconds({
    description: 'Only created at or after this time, in Unix seconds.',
  }),
  until: unixSeconds({ description: 'Only created before this time, in Unix seconds.' }),
};

export const eventFilters = {
  eventId: exactText({ description: 'Only for the event with this identifier.' }),
  event: eventFilter({ description: 'Only for this event kind.' }),
  networkId: wholeNumber(0, MAX_NETWORK_ID, { description: 'Only for this network.' }),
  transactionHash: exactText({
    description: 'Only for payments of this transaction; the newest 100 events are found. Case does not matter.',
  }),
  ...dateFilters,
};

const matched = oneOf(['true', 'false'], {
  description:
    '`false`: only events that reached no webhook. An event that was superseded, a retraction, and an event whose ' +
    'deliveries are still to come are not among these. `true`: all others.',
});

export const eventListQuerySchema = z.strictObject({
  ...eventFilters,
  matched,
  q: textOf(1, 256, {
    description:
      'Only what this text names: the exact id of an event, a transfer or an agreement. Of an agreement, the newest 100 ' +
      'events are found.',
    example: 'trf_8412',
  }),
  ...pagingFields(['dateCreated']),
});
export type EventListQuery = z.output<typeof eventListQuerySchema>;
