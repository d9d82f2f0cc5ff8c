import type { z } from 'zod';
import type {
  paymentDetailSchema,
  paymentListQuerySchema,
  paymentListSchema,
  paymentSchema,
  timelineEntrySchema,
  webhookStatusSchema,
} from '../../contract/chain/payments.ts';
import { allPages } from '../pages.ts';
import type { Query } from '../schema-types.ts';
import type { CallOptions, Transport } from '../transport.ts';

export type Payment = z.output<typeof paymentSchema>;
export type PaymentDetail = z.output<typeof paymentDetailSchema>;
export type PaymentTimelineEntry = z.output<typeof timelineEntrySchema>;
export type PaymentWebhook = z.output<typeof webhookStatusSchema>;
export type PaymentList = z.output<typeof paymentListSchema>;
export type PaymentListQuery = Query<typeof paymentListQuerySchema>;

/** Transfers on networks, wherever their transactions now are. */
export class Payments {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: PaymentListQuery = {}, options?: CallOptions): Promise<PaymentList> {
    return this.#transport.call({ method: 'GET', path: '/payments', query }, options);
  }

  /** Every matching payment, page after page. Fails after 10,000: walk over more of them by `since` and `until`. */
  listAll(query: PaymentListQuery = {}, options?: CallOptions): AsyncGenerator<Payment, void, undefined> {
    const readPage = async (page: PaymentListQuery, each: CallOptions) => {
      const list = await this.list(page, each);
      // Without the exact total, the walk continues until the service refuses a page.
      return list.isTotalExact ? list : { ...list, totalResults: Number.POSITIVE_INFINITY };
    };
    return allPages(readPage, 'payments', 'paymentId', query, options);
  }

  /** A payment with its timeline, its events, and the status of each webhook. */
  get(paymentId: string, options?: CallOptions): Promise<PaymentDetail> {
    return this.#transport.call({ method: 'GET', path: '/payments/{paymentId}', id: paymentId }, options);
  }
}
