import { z } from 'zod';
import { ATTEMPT_ERRORS, ATTEMPT_KINDS, DELIVERY_STATUSES } from '../domain/attempt.ts';
import { MAX_NETWORK_ID } from '../domain/networks.ts';
import { eventFilter, exactText, oneOf, oneOfOr, pagingFields, wholeNumber } from './list-query.ts';

/** Accepted events and their deliveries, as the API shows them. */

/** More than any retry schedule has. It bounds the response for a delivery that was redelivered very often. */
export const MAX_ATTEMPTS_SHOWN = 200;

const count = z.int().min(0);
const date = (what: string) => z.int().meta({ description: `${what}, in Unix seconds.` });

const exampleBody = '{"eventId":"transfer-8412-finalized","event":"TransferFinalized","networkId":8453}';

const eventExample = {
  eventId: 'transfer-8412-finalized',
  event: 'TransferFinalized',
  networkId: 8453,
  body: exampleBody,
  dateCreated: 1763168400,
  deliveries: 2,
  retractedBy: null,
};

const retractedBy = z.string().nullable().meta({
  description: 'Event that took this one back: what it said is not true any more. Null for an event that stands.',
});

export const eventSchema = z
  .strictObject({
    eventId: z.string().meta({ description: 'Unique identifier of the event within the entity.' }),
    event: z.string().meta({ description: 'Event kind.' }),
    networkId: z.int().meta({ description: 'Network of the event.' }),
    body: z.string().meta({ description: 'The payload, byte for byte as it was received.' }),
    dateCreated: date('When the event was accepted'),
    deliveries: count.meta({ description: 'Number of webhooks that matched the event.' }),
    retractedBy,
  })
  .meta({ id: 'Event', description: 'An accepted event.', example: eventExample });

export type Event = z.output<typeof eventSchema>;

export const eventListSchema = z
  .strictObject({ totalResults: count, events: z.array(eventSchema) })
  .meta({ id: 'EventList', example: { totalResults: 1, events: [eventExample] } });

const dateFilters = {
  since: wholeNumber(0, Number.MAX_SAFE_INTEGER, {
    description: 'Only created at or after this time, in Unix seconds.',
  }),
  until: wholeNumber(0, Number.MAX_SAFE_INTEGER, { description: 'Only created before this time, in Unix seconds.' }),
};

const eventFilters = {
  eventId: exactText({ description: 'Only for the event with this identifier.' }),
  event: eventFilter({ description: 'Only for this event kind.' }),
  networkId: wholeNumber(0, MAX_NETWORK_ID, { description: 'Only for this network.' }),
  ...dateFilters,
};

export const eventListQuerySchema = z.strictObject({ ...eventFilters, ...pagingFields(['dateCreated']) });
export type EventListQuery = z.output<typeof eventListQuerySchema>;

const deliveryFields = {
  deliveryId: z.string().meta({
    description: 'Unique identifier of the delivery. Every request has it in the `webhook-id` header.',
  }),
  eventId: z.string().meta({ description: 'Event that is delivered.' }),
  webhookId: z.string().meta({ description: 'Webhook that the event is delivered to.' }),
  event: z.string().meta({ description: 'Event kind.' }),
  networkId: z.int().meta({ description: 'Network of the event.' }),
  postUrl: z.string().meta({ description: 'URL of the last attempt, or of the first one before it is made.' }),
  status: z.enum(DELIVERY_STATUSES).meta({ description: 'Current state of the delivery.' }),
  attempts: count.meta({ description: 'Number of attempts so far.' }),
  dateCreated: date('When the event was accepted'),
  dateNextAttempt: date('When the next attempt is due; null when none is').nullable(),
  dateDelivered: date('When the delivery succeeded; null before that').nullable(),
  lastStatusCode: z.int().nullable().meta({
    description: 'HTTP status of the last attempt; null when there was no complete response.',
  }),
  lastError: z
    .string()
    .nullable()
    .meta({ description: 'Why the last attempt got no complete response, if it did not.' }),
  endpointId: z.string().nullable().meta({
    description: 'Endpoint that has numbered the delivery: the `paybell-endpoint` header. Null when it has no number.',
  }),
  sequence: z.int().nullable().meta({
    description:
      'Number of the delivery at its endpoint: the `paybell-sequence` header. Null for alerts and test requests.',
  }),
  supersededBy: z.string().nullable().meta({
    description: 'Event that made the delivery pointless before it was sent; null unless the status is `superseded`.',
  }),
};

const deliveryExample = {
  deliveryId: 'dlv_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  eventId: 'transfer-8412-finalized',
  webhookId: 'wh_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  event: 'TransferFinalized',
  networkId: 8453,
  postUrl: 'https://example.com/hooks/paybell',
  status: 'delivered',
  attempts: 1,
  dateCreated: 1763168400,
  dateNextAttempt: null,
  dateDelivered: 1763168401,
  lastStatusCode: 200,
  lastError: null,
  endpointId: 'ep_00199c2a6e0b17',
  sequence: 42,
  supersededBy: null,
};

export const deliverySchema = z
  .strictObject(deliveryFields)
  .meta({ id: 'Delivery', description: 'One event on its way to one webhook.', example: deliveryExample });
export type Delivery = z.output<typeof deliverySchema>;

export const attemptSchema = z
  .strictObject({
    attempt: z.int().min(1).meta({ description: 'Number of the attempt, starting at 1.' }),
    kind: z.enum(ATTEMPT_KINDS).meta({ description: 'Why the attempt was made.' }),
    postUrl: z.string().meta({ description: 'URL that the request was sent to.' }),
    startedAtMs: z.int().meta({ description: 'Start of the attempt, in Unix milliseconds.' }),
    durationMs: count.meta({ description: 'Duration of the attempt, in milliseconds.' }),
    statusCode: z.int().nullable().meta({ description: 'HTTP status; null when there was no complete response.' }),
    error: z
      .enum(ATTEMPT_ERRORS)
      .nullable()
      .meta({ description: 'Why there was no complete response; null when there was one.' }),
    response: z.string().nullable().meta({ description: 'The beginning of the response body.' }),
  })
  .meta({ id: 'Attempt', description: 'One request to the URL of a webhook.' });

export type Attempt = z.output<typeof attemptSchema>;

export const deliveryDetailSchema = z
  .strictObject({
    ...deliveryFields,
    body: z.string().meta({ description: 'The body of every request, byte for byte.' }),
    retractedBy,
    factId: z.string().nullable().meta({
      description:
        'What a network said that led to the event, with all that became of it; null for an event that was published.',
    }),
    attemptLog: z
      .array(attemptSchema)
      .max(MAX_ATTEMPTS_SHOWN)
      .meta({
        description: `The latest ${MAX_ATTEMPTS_SHOWN} attempts at most, oldest first. \`attempts\` counts all of them.`,
      }),
  })
  .meta({
    id: 'DeliveryDetail',
    description: 'A delivery with its body and its attempts.',
    example: {
      ...deliveryExample,
      body: exampleBody,
      retractedBy: null,
      factId: null,
      attemptLog: [
        {
          attempt: 1,
          kind: 'first',
          postUrl: 'https://example.com/hooks/paybell',
          startedAtMs: 1763168400123,
          durationMs: 87,
          statusCode: 200,
          error: null,
          response: 'ok',
        },
      ],
    },
  });

export type DeliveryDetail = z.output<typeof deliveryDetailSchema>;

/** As lists show it. */
export function withoutDetail(detail: DeliveryDetail): Delivery {
  const { body: _, attemptLog: __, retractedBy: ___, factId: ____, ...delivery } = detail;
  return delivery;
}

export const deliveryListSchema = z
  .strictObject({ totalResults: count, deliveries: z.array(deliverySchema) })
  .meta({ id: 'DeliveryList', example: { totalResults: 1, deliveries: [deliveryExample] } });

const deliveryFilters = {
  ...eventFilters,
  webhookId: exactText({ description: 'Only deliveries to this webhook.' }),
  status: oneOf(DELIVERY_STATUSES, { description: 'Only deliveries in this state.' }),
};

export const deliveryListQuerySchema = z.strictObject({
  ...deliveryFilters,
  ...pagingFields(['dateCreated', 'dateNextAttempt']),
});

export type DeliveryListQuery = z.output<typeof deliveryListQuerySchema>;

/** The filters of a list as values, as a bulk redelivery stores them. */
export const deliveryFilterSchema = z.strictObject({
  eventId: z.string().optional(),
  event: z.string().optional(),
  networkId: z.int().optional(),
  since: z.int().optional(),
  until: z.int().optional(),
  webhookId: z.string().optional(),
  status: z.enum(DELIVERY_STATUSES).optional(),
});

export type DeliveryFilter = z.output<typeof deliveryFilterSchema>;
const FILTER_NAMES = deliveryFilterSchema.keyof().options;

/** At least one filter is required, so that no request redelivers everything by mistake. */
export const redeliverQuerySchema = z
  .strictObject({
    ...deliveryFilters,
    dryRun: oneOfOr('false', ['true', 'false'], {
      description: '`true` only counts the deliveries that would be sent again.',
    }),
  })
  .refine((query) => FILTER_NAMES.some((name) => query[name] !== undefined), {
    path: [FILTER_NAMES.join(', ')],
    error: 'give at least one of these filters, so that nothing is sent again by mistake',
    when: () => true,
  });

export const redeliverySchema = z
  .strictObject({
    redeliveryId: z.string().meta({ description: 'Unique identifier of the bulk redelivery.' }),
    status: z
      .enum(['running', 'finished'])
      .meta({ description: '`finished` once every matching delivery was queued or skipped.' }),
    totalResults: count.meta({ description: 'Deliveries that matched when the redelivery started.' }),
    queued: count.meta({ description: 'Deliveries that were put into the queue of their destination.' }),
    skipped: count.meta({
      description: 'Deliveries whose webhook is deleted or suspended, or whose event was retracted.',
    }),
    sent: count.meta({ description: 'Queued deliveries that have been sent again.' }),
    delivered: count.meta({ description: 'Queued deliveries that have succeeded.' }),
    dateCreated: date('When the redelivery was requested'),
    dateFinished: date('When it finished; null while it is running').nullable(),
  })
  .meta({
    id: 'Redelivery',
    description: 'The progress of a bulk redelivery.',
    example: {
      redeliveryId: 'rdl_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
      status: 'running',
      totalResults: 1200,
      queued: 500,
      skipped: 0,
      sent: 320,
      delivered: 320,
      dateCreated: 1763168400,
      dateFinished: null,
    },
  });

export type Redelivery = z.output<typeof redeliverySchema>;
