import { z } from 'zod';
import { ATTEMPT_ERRORS, ATTEMPT_KINDS, DELIVERY_STATUSES } from '../domain/attempt.ts';
import { EVENT_KINDS } from '../domain/event-kinds.ts';
import { MAX_NETWORK_ID } from '../domain/networks.ts';
import { exactText, oneOf, oneOfOr, pagingFields, wholeNumber } from './list-query.ts';

/** What callers see of events and deliveries, and how they ask for it. */

/** No schedule comes near it, but whoever sends one again all day would read a page of megabytes. */
export const MAX_ATTEMPTS_SHOWN = 200;

const dateS = z.int().meta({ description: 'Unix seconds.' });
const count = z.int().min(0);

const exampleBody = '{"eventId":"transfer-8412-finalized","event":"TransferFinalized","networkId":8453}';

const eventExample = {
  eventId: 'transfer-8412-finalized',
  event: 'TransferFinalized',
  networkId: 8453,
  body: exampleBody,
  dateCreated: 1763168400,
  deliveries: 2,
};

export const eventSchema = z
  .strictObject({
    eventId: z.string(),
    event: z.string(),
    networkId: z.int(),
    body: z.string().meta({ description: 'The exact text that came in and goes out.' }),
    dateCreated: dateS,
    deliveries: count.meta({ description: 'How many webhooks matched.' }),
  })
  .meta({ id: 'Event', example: eventExample });

export type EventView = z.output<typeof eventSchema>;

export const eventListSchema = z
  .strictObject({ totalResults: count, events: z.array(eventSchema) })
  .meta({ id: 'EventList', example: { totalResults: 1, events: [eventExample] } });

const moments = {
  since: wholeNumber(0, Number.MAX_SAFE_INTEGER, { description: 'Only from this Unix second on.' }),
  until: wholeNumber(0, Number.MAX_SAFE_INTEGER, { description: 'Only before this Unix second.' }),
};

const eventFilters = {
  eventId: exactText({ description: 'Only this event.' }),
  event: oneOf(EVENT_KINDS, { description: 'Only this kind of event.' }),
  networkId: wholeNumber(0, MAX_NETWORK_ID, { description: 'Only this network.' }),
  ...moments,
};

export const eventListQuerySchema = z.strictObject({ ...eventFilters, ...pagingFields(['dateCreated']) });
export type EventListQuery = z.output<typeof eventListQuerySchema>;

const deliveryFields = {
  deliveryId: z.string().meta({ description: 'Also the `webhook-id` of every post.' }),
  eventId: z.string(),
  webhookId: z.string(),
  event: z.string(),
  networkId: z.int(),
  postUrl: z.string().meta({ description: 'Where the last attempt went, or the first will go.' }),
  status: z.enum(DELIVERY_STATUSES),
  attempts: count,
  dateCreated: dateS,
  dateNextAttempt: dateS.nullable(),
  dateDelivered: dateS.nullable(),
  lastStatusCode: z.int().nullable(),
  lastError: z.string().nullable(),
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
};

export const deliverySchema = z.strictObject(deliveryFields).meta({ id: 'Delivery', example: deliveryExample });
export type DeliveryView = z.output<typeof deliverySchema>;

export const attemptSchema = z
  .strictObject({
    attempt: z.int().min(1),
    kind: z.enum(ATTEMPT_KINDS),
    postUrl: z.string(),
    startedAtMs: z.int().meta({ description: 'Unix milliseconds.' }),
    durationMs: count,
    statusCode: z.int().nullable().meta({ description: 'Null when there was no complete answer.' }),
    error: z.enum(ATTEMPT_ERRORS).nullable().meta({ description: 'Why there was none; null when there was one.' }),
    response: z.string().nullable().meta({ description: 'The beginning of what the receiver answered.' }),
  })
  .meta({ id: 'Attempt' });

export type AttemptView = z.output<typeof attemptSchema>;

export const deliveryDetailSchema = z
  .strictObject({
    ...deliveryFields,
    body: z.string().meta({ description: 'The exact text of every post.' }),
    attemptLog: z
      .array(attemptSchema)
      .max(MAX_ATTEMPTS_SHOWN)
      .meta({ description: `The latest ${MAX_ATTEMPTS_SHOWN} at most, oldest first; \`attempts\` counts all.` }),
  })
  .meta({
    id: 'DeliveryDetail',
    example: {
      ...deliveryExample,
      body: exampleBody,
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

const FILTER_NAMES = ['eventId', 'event', 'networkId', 'since', 'until', 'webhookId', 'status'] as const;
export type DeliveryFilter = Pick<DeliveryListQuery, (typeof FILTER_NAMES)[number]>;

/** The filters of a bulk redelivery; with none it would send everything again, and that is never meant. */
export const redeliverQuerySchema = z
  .strictObject({
    ...deliveryFilters,
    dryRun: oneOfOr('false', ['true', 'false'], { description: '`true` only counts what would be sent again.' }),
  })
  .refine((query) => FILTER_NAMES.some((name) => query[name] !== undefined), {
    path: [FILTER_NAMES.join(', ')],
    error: 'give at least one of these filters, so that nothing is sent again by accident',
    when: () => true,
  });

export const redeliverySchema = z
  .strictObject({
    redeliveryId: z.string(),
    status: z.enum(['running', 'finished']).meta({ description: '`finished` when every match was queued or skipped.' }),
    totalResults: count.meta({ description: 'How many deliveries matched at the start.' }),
    queued: count.meta({ description: 'How many were put into their destination’s queue.' }),
    skipped: count.meta({ description: 'How many have a webhook that is deleted or suspended.' }),
    sent: count.meta({ description: 'How many of the queued have been posted again.' }),
    delivered: count.meta({ description: 'How many of the queued are delivered.' }),
    dateCreated: dateS,
    dateFinished: dateS.nullable(),
  })
  .meta({
    id: 'Redelivery',
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
