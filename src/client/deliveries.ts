import type { z } from 'zod';
import type { redeliverQuerySchema, redeliverySchema } from '../contract/deliveries/redelivery.ts';
import type { summarySchema } from '../contract/deliveries/summary.ts';
import type { waitsForSchema } from '../contract/deliveries/waits-for.ts';
import type {
  attemptSchema,
  deliveryCountsQuerySchema,
  deliveryCountsSchema,
  deliveryDetailSchema,
  deliveryListQuerySchema,
  deliveryListSchema,
  deliverySchema,
} from '../contract/deliveries.ts';
import { allPages } from './pages.ts';
import type { Match, Query } from './schema-types.ts';
import type { CallOptions, Transport } from './transport.ts';
import type { Count } from './webhooks.ts';

export type Attempt = z.output<typeof attemptSchema>;
export type Delivery = z.output<typeof deliverySchema>;
export type DeliveryCounts = z.output<typeof deliveryCountsSchema>;
export type DeliveryCountsQuery = Query<typeof deliveryCountsQuerySchema>;
export type DeliveryDetail = z.output<typeof deliveryDetailSchema>;
export type DeliveryList = z.output<typeof deliveryListSchema>;
export type DeliveryListQuery = Query<typeof deliveryListQuerySchema>;
export type DeliveryMatch = Match<typeof redeliverQuerySchema>;
export type DeliverySummary = z.output<typeof summarySchema>;
export type Redelivery = z.output<typeof redeliverySchema>;
export type WaitsFor = z.output<typeof waitsForSchema>;

export class Deliveries {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: DeliveryListQuery = {}, options?: CallOptions): Promise<DeliveryList> {
    return this.#transport.call({ method: 'GET', path: '/deliveries', query }, options);
  }

  /** Every matching delivery, page after page. */
  listAll(query: DeliveryListQuery = {}, options?: CallOptions): AsyncGenerator<Delivery, void, undefined> {
    return allPages((page, each) => this.list(page, each), 'deliveries', 'deliveryId', query, options);
  }

  /** How many deliveries match, in each state. */
  counts(query: DeliveryCountsQuery = {}, options?: CallOptions): Promise<DeliveryCounts> {
    return this.#transport.call({ method: 'GET', path: '/deliveries/counts', query }, options);
  }

  /** A delivery with its body and its attempts. */
  get(deliveryId: string, options?: CallOptions): Promise<DeliveryDetail> {
    return this.#transport.call({ method: 'GET', path: '/deliveries/{deliveryId}', id: deliveryId }, options);
  }

  /**
   * Sends the delivery again, whatever its status. A repeated call sends it once more with the same `webhook-id`, which
   * the receiver knows already.
   */
  redeliver(deliveryId: string, options?: CallOptions): Promise<Delivery> {
    const path = '/deliveries/{deliveryId}/redeliver';
    return this.#transport.call({ method: 'POST', path, id: deliveryId }, options);
  }

  /** Sends all matching deliveries again, in the background. At least one filter is required. */
  redeliverMatching(match: DeliveryMatch, options?: CallOptions): Promise<Redelivery> {
    const path = '/deliveries/redeliver';
    return this.#transport.call({ method: 'POST', path, query: match, isIdempotent: false }, options);
  }

  /** How many deliveries `redeliverMatching` would send again. */
  countRedelivering(match: DeliveryMatch, options?: CallOptions): Promise<Count> {
    const query = { ...match, dryRun: true };
    return this.#transport.call({ method: 'POST', path: '/deliveries/redeliver', query }, options);
  }

  /** The progress of a `redeliverMatching`. */
  redelivery(redeliveryId: string, options?: CallOptions): Promise<Redelivery> {
    return this.#transport.call({ method: 'GET', path: '/redeliveries/{redeliveryId}', id: redeliveryId }, options);
  }
}
