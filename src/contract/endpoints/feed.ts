import { z } from 'zod';
import { DELIVERY_STATUSES } from '../../domain/attempt.ts';
import { MAX_LIMIT, wholeNumber, wholeNumberOr } from '../list-query.ts';

/** The feed of an endpoint: the deliveries of every sequence number, with their state. */

/** Proxies commonly close a connection after 30 s without a byte. */
const MAX_WAIT_S = 25;

export const feedQuerySchema = z.strictObject({
  after: wholeNumber(0, Number.MAX_SAFE_INTEGER, {
    description: 'Only numbers above this one: the `sequence` of the last entry that you have. 0 if absent.',
  }),
  limit: wholeNumberOr(MAX_LIMIT, 1, MAX_LIMIT, {
    description: 'Maximum number of entries. A response with large bodies has fewer.',
  }),
  wait: wholeNumberOr(0, 0, MAX_WAIT_S, {
    description: 'Seconds to wait for a number above `after` if there is none yet.',
  }),
});
export type FeedQuery = z.output<typeof feedQuerySchema>;

const sequence = z.int().min(1);

const example = {
  sequence: 42,
  deliveryId: 'dlv_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  eventId: 'transfer-8412-finalized',
  event: 'TransferFinalized',
  networkId: 8453,
  status: 'delivered',
  dateCreated: 1763168400,
  body: '{"eventId":"transfer-8412-finalized","event":"TransferFinalized","networkId":8453}',
};

export const feedEntrySchema = z
  .strictObject({
    sequence: sequence.meta({ description: 'Number of the delivery. Its requests have it in `paybell-sequence`.' }),
    deliveryId: z.string().nullable().meta({ description: 'The `webhook-id` of its requests.' }),
    eventId: z.string().nullable().meta({ description: 'Event that is delivered.' }),
    event: z.string().nullable().meta({ description: 'Event kind.' }),
    networkId: z.int().nullable().meta({ description: 'Network of the event.' }),
    status: z.enum([...DELIVERY_STATUSES, 'removed']).meta({
      description:
        'State of the delivery when it was read. Pass over `superseded` and `cancelled`: a later event took its place, its ' +
        'payment is gone, or its webhook was deleted. `removed` if retention has deleted it: the other fields are null then.',
    }),
    dateCreated: z.int().nullable().meta({ description: 'When the event was accepted, in Unix seconds.' }),
    body: z.string().nullable().meta({ description: 'The body of every request, byte for byte.' }),
  })
  .meta({ id: 'FeedEntry', description: 'One number of an endpoint, and its delivery.', example });
export type FeedEntry = z.output<typeof feedEntrySchema>;

export const feedSchema = z
  .strictObject({
    firstSequence: sequence.meta({
      description: 'The lowest number that the feed has. Retention has deleted all deliveries with lower ones.',
    }),
    lastSequence: z.int().min(0).meta({ description: 'The highest number so far; 0 before the first delivery.' }),
    deliveries: z
      .array(feedEntrySchema)
      .meta({ description: 'In the order of their sequence numbers, without a gap.' }),
  })
  .meta({ id: 'Feed', example: { firstSequence: 1, lastSequence: 42, deliveries: [example] } });
export type Feed = z.output<typeof feedSchema>;
