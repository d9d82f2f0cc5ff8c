import { z } from 'zod';
import { ATTEMPT_ERRORS, ATTEMPT_KINDS, DELIVERY_KINDS, DELIVERY_STATUSES } from '../domain/attempt.ts';
import { summarySchema } from './deliveries/summary.ts';
import { waitsForSchema } from './deliveries/waits-for.ts';
import { eventFilters, exampleBody, retractedBy } from './events/accepted-event.ts';
import { exactText, oneOf, pagingFields, textOf } from './list-query.ts';
import { count, date } from './values.ts';

/** Deliveries of accepted events, as the API shows them. */

/** More than any retry schedule has. It bounds the response for a delivery that was redelivered very often. */
export const MAX_ATTEMPTS_SHOWN = 200;

const deliveryFields = {
  deliveryId: z.string().meta({
    description: 'Unique identifier of the delivery. Every request has it in the `webhook-id` header.',
  }),
  kind: z.enum(DELIVERY_KINDS).meta({
    description:
      'Why the delivery exists: `event` for an accepted event, `test` for a test request, `alert` for an alert of ' +
      'Paybell to the alert URL.',
  }),
  eventId: z.string().meta({ description: 'Event that is delivered.' }),
  webhookId: z.string().meta({ description: 'Webhook that the event is delivered to.' }),
  event: z.string().meta({ description: 'Event kind.' }),
  networkId: z.int().meta({ description: 'Network of the event.' }),
  postUrl: z.string().meta({
    description:
      'URL of the last attempt, or of the first one before it is made. If a redelivery fails, the URL that acknowledged the delivery.',
  }),
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
  retractedBy,
  waitsFor: waitsForSchema.nullable().meta({
    description: 'Why the delivery was not sent yet; null unless the status is `pending`, `retrying` or `held`.',
  }),
  summary: summarySchema.nullable().meta({
    description:
      'Fields of the payload that describe its payment. Null if it has none of them, if it has more than 8 KiB, or if ' +
      'retention has removed the event.',
  }),
};

const deliveryExample = {
  deliveryId: 'dlv_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  kind: 'event',
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
  retractedBy: null,
  waitsFor: null,
  summary: { amount: '25.00', token: 'USDC', agreementId: null, transferId: 'trf_8412', payer: null },
};

export const deliverySchema = z
  .strictObject(deliveryFields)
  .meta({ id: 'Delivery', description: 'One event on its way to one webhook.', example: deliveryExample });
export type Delivery = z.output<typeof deliverySchema>;

const headerSchema = z.strictObject({ name: z.string().meta({ description: 'In lower case.' }), value: z.string() });

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
    requestHeaders: z.array(headerSchema).meta({
      description:
        'Headers of the request, derived from the delivery and from the endpoint as it is now. Signatures and the values ' +
        'of the headers of the endpoint are masked as `***`.',
    }),
    responseHeaders: z
      .array(headerSchema)
      .nullable()
      .meta({
        description:
          'The first KiB of the headers of a response that was not a success, with credentials such as cookies masked as ' +
          '`***`. Null for a success, without a response, and for attempts of earlier versions.',
      }),
  })
  .meta({ id: 'Attempt', description: 'One request to the URL of a webhook.' });

export type Attempt = z.output<typeof attemptSchema>;

export const deliveryDetailSchema = z
  .strictObject({
    ...deliveryFields,
    body: z.string().meta({ description: 'The body of every request, byte for byte.' }),
    factId: z.string().nullable().meta({
      description: 'The payment or agreement on a network that led to the event; null for an event that was published.',
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
          requestHeaders: [
            { name: 'content-type', value: 'application/json' },
            { name: 'webhook-signature', value: '***' },
          ],
          responseHeaders: null,
        },
      ],
    },
  });

export type DeliveryDetail = z.output<typeof deliveryDetailSchema>;

/** As lists show it. */
export function withoutDetail(detail: Omit<DeliveryDetail, 'attemptLog'> & { attemptLog: unknown }): Delivery {
  const { body: _, attemptLog: __, factId: ___, ...delivery } = detail;
  return delivery;
}

/** A search in payloads looks at no more than these. */
export const MAX_PAYLOADS_SEARCHED = 10_000;

const searchedSchema = z.strictObject({
  deliveries: count.meta({ description: 'Deliveries that it looked at, the newest first.' }),
  dateOldest: date('When the oldest of them was created; null when there is none').nullable(),
});
export type SearchedPayloads = z.output<typeof searchedSchema>;

export const deliveryListSchema = z
  .strictObject({
    totalResults: count,
    deliveries: z.array(deliverySchema),
    searched: searchedSchema.nullable().meta({
      description: 'How far a search by `payload` has looked. Null without `payload`.',
    }),
  })
  .meta({ id: 'DeliveryList', example: { totalResults: 1, deliveries: [deliveryExample], searched: null } });
export type DeliveryList = z.output<typeof deliveryListSchema>;

export const deliveryFilters = {
  ...eventFilters,
  webhookId: exactText({ description: 'Only deliveries to this webhook.' }),
  endpointId: exactText({ description: 'Only deliveries to webhooks that have the URL of this endpoint now.' }),
  status: oneOf(DELIVERY_STATUSES, { description: 'Only deliveries in this state.' }),
  q: textOf(1, 256, {
    description:
      'Only what this text names: the exact id of a delivery, an event, a transfer or an agreement, or the beginning of a ' +
      'URL or of a host that webhooks have now. For an agreement, the newest 100 events are found.',
    example: 'hooks.example.com',
  }),
};

export const deliveryListQuerySchema = z
  .strictObject({
    ...deliveryFilters,
    payload: textOf(3, 256, {
      description:
        'Only deliveries whose body contains this text, byte for byte. Requires `since`. It looks at the newest ' +
        `${MAX_PAYLOADS_SEARCHED} deliveries of the other filters, or at 64 MiB of bodies; \`searched\` says how far.`,
    }),
    ...pagingFields(['dateCreated', 'dateNextAttempt']),
  })
  .refine(({ payload, since }) => payload === undefined || since !== undefined, {
    path: ['payload'],
    error: 'needs `since`: say how far back to look',
    when: () => true,
  })
  .refine(({ payload, sortBy }) => payload === undefined || sortBy === 'dateCreated', {
    path: ['sortBy'],
    error: 'must be dateCreated where `payload` is given',
    when: () => true,
  });

export type DeliveryListQuery = z.output<typeof deliveryListQuerySchema>;

const { status: _, ...countFilters } = deliveryFilters;
export const deliveryCountsQuerySchema = z.strictObject(countFilters);

export const deliveryCountsSchema = z
  .strictObject({
    total: count.meta({ description: 'Deliveries that match, in any state.' }),
    pending: count,
    retrying: count,
    delivered: count,
    failed: count,
    held: count,
    cancelled: count,
    superseded: count,
  })
  .meta({
    id: 'DeliveryCounts',
    description: 'The number of deliveries in each state.',
    example: {
      total: 1212,
      pending: 3,
      retrying: 8,
      delivered: 1198,
      failed: 2,
      held: 0,
      cancelled: 1,
      superseded: 0,
    },
  });
export type DeliveryCounts = z.output<typeof deliveryCountsSchema>;
