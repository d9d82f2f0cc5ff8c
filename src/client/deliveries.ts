import { OPERATIONS } from './operations.ts';
import { allPages } from './pages.ts';
import type { CallOptions, Transport } from './transport.ts';
import type {
  Count,
  Delivery,
  DeliveryDetail,
  DeliveryList,
  DeliveryListQuery,
  DeliveryMatch,
  Redelivery,
} from './types.ts';

export class Deliveries {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: DeliveryListQuery = {}, options?: CallOptions): Promise<DeliveryList> {
    return this.#transport.call(OPERATIONS.listDeliveries, { query }, options);
  }

  /** Every delivery that matches, page after page. */
  listAll(query: DeliveryListQuery = {}, options?: CallOptions): AsyncGenerator<Delivery, void, undefined> {
    const read = async (asked: DeliveryListQuery, given: CallOptions) => {
      const { totalResults, deliveries } = await this.list(asked, given);
      return { totalResults, items: deliveries };
    };
    return allPages(read, ({ deliveryId }) => deliveryId, query, options);
  }

  /** With its body and every attempt. */
  get(deliveryId: string, options?: CallOptions): Promise<DeliveryDetail> {
    return this.#transport.call(OPERATIONS.readDelivery, { id: deliveryId }, options);
  }

  /** One more post, whatever the delivery's state. */
  redeliver(deliveryId: string, options?: CallOptions): Promise<Delivery> {
    return this.#transport.call(OPERATIONS.redeliver, { id: deliveryId }, options);
  }

  /** One more post for all that match, in the background; at least one filter is needed. */
  redeliverMatching(match: DeliveryMatch, options?: CallOptions): Promise<Redelivery> {
    return this.#transport.call(OPERATIONS.redeliverMany, { query: match }, options);
  }

  /** How many `redeliverMatching` would send again. */
  countRedelivering(match: DeliveryMatch, options?: CallOptions): Promise<Count> {
    const sent = { query: { ...match, dryRun: true }, once: false };
    return this.#transport.call(OPERATIONS.redeliverMany, sent, options);
  }

  /** How far a `redeliverMatching` has come. */
  redelivery(redeliveryId: string, options?: CallOptions): Promise<Redelivery> {
    return this.#transport.call(OPERATIONS.readRedelivery, { id: redeliveryId }, options);
  }
}
