import { z } from 'zod';
import { DELIVERY_STATUSES } from '../../domain/attempt.ts';
import { deliveryFilters } from '../deliveries.ts';
import { oneOfOr } from '../list-query.ts';
import { count, date } from '../values.ts';

/** Bulk redeliveries: the deliveries that a filter selects are sent again. */

/** The filters of a list as values, as a bulk redelivery stores them. */
export const deliveryFilterSchema = z.strictObject({
  eventId: z.string().optional(),
  event: z.string().optional(),
  networkId: z.int().optional(),
  transactionHash: z.string().optional(),
  since: z.int().optional(),
  until: z.int().optional(),
  webhookId: z.string().optional(),
  endpointId: z.string().optional(),
  status: z.enum(DELIVERY_STATUSES).optional(),
  q: z.string().optional(),
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
    delivered: count.meta({ description: 'Queued deliveries that have succeeded: their last attempt did.' }),
    failed: count.meta({
      description: 'Queued deliveries whose last attempt failed and that have none to come, or that were cancelled.',
    }),
    waiting: count.meta({ description: 'Queued deliveries with an attempt to come.' }),
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
      delivered: 318,
      failed: 2,
      waiting: 180,
      dateCreated: 1763168400,
      dateFinished: null,
    },
  });

export type Redelivery = z.output<typeof redeliverySchema>;
