import type { z } from 'zod';
import type {
  invoiceBatchResultsSchema,
  invoiceDetailSchema,
  invoiceListQuerySchema,
  invoiceListSchema,
  invoiceSchema,
} from '../../contract/chain/invoices.ts';
import type { newInvoiceSchema } from '../../contract/chain/new-invoice.ts';
import { NDJSON_TYPE, toBatches } from '../events/batches.ts';
import { allPages } from '../pages.ts';
import type { Query } from '../schema-types.ts';
import type { CallOptions, Transport } from '../transport.ts';

export type NewInvoice = z.input<typeof newInvoiceSchema>;
export type Invoice = z.output<typeof invoiceSchema>;
export type InvoiceDetail = z.output<typeof invoiceDetailSchema>;
export type InvoiceList = z.output<typeof invoiceListSchema>;
export type InvoiceListQuery = Query<typeof invoiceListQuerySchema>;
export type InvoiceBatchResults = z.output<typeof invoiceBatchResultsSchema>;

const ONE = '/invoices/{invoiceId}';

/** Payments that are expected. */
export class Invoices {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * The same `reference` with the same terms returns the invoice that exists. Without a reference, the request is not repeated
   * after a lost response.
   */
  create(invoice: NewInvoice, options?: CallOptions): Promise<InvoiceDetail> {
    const isIdempotent = invoice.reference !== undefined;
    return this.#transport.call({ method: 'POST', path: '/invoices', json: invoice, isIdempotent }, options);
  }

  /** Creates any number of invoices, in batches of the size that the service allows; one result each, in their order. */
  async createBatch(invoices: Iterable<NewInvoice>, options?: CallOptions): Promise<InvoiceBatchResults> {
    const all = [...invoices];
    const isIdempotent = all.every(({ reference }) => reference !== undefined);
    const results: InvoiceBatchResults['results'] = [];
    for (const body of toBatches(all)) {
      const text = { type: NDJSON_TYPE, body };
      const request = { method: 'POST', path: '/invoices/batch', text, isIdempotent } as const;
      results.push(...(await this.#transport.call<InvoiceBatchResults>(request, options)).results);
    }
    return { results };
  }

  list(query: InvoiceListQuery = {}, options?: CallOptions): Promise<InvoiceList> {
    return this.#transport.call({ method: 'GET', path: '/invoices', query }, options);
  }

  /** Every matching invoice, page after page. */
  listAll(query: InvoiceListQuery = {}, options?: CallOptions): AsyncGenerator<Invoice, void, undefined> {
    return allPages((page, each) => this.list(page, each), 'invoices', 'invoiceId', query, options);
  }

  /** An invoice with its payments. */
  get(invoiceId: string, options?: CallOptions): Promise<InvoiceDetail> {
    return this.#transport.call({ method: 'GET', path: ONE, id: invoiceId }, options);
  }

  /** Fails with `invoice_paid` if it is paid. */
  cancel(invoiceId: string, options?: CallOptions): Promise<InvoiceDetail> {
    return this.#transport.call({ method: 'POST', path: '/invoices/{invoiceId}/cancel', id: invoiceId }, options);
  }

  /** Asks a node for the balance of the address, at most once in 10 seconds. */
  check(invoiceId: string, options?: CallOptions): Promise<InvoiceDetail> {
    return this.#transport.call({ method: 'POST', path: '/invoices/{invoiceId}/check', id: invoiceId }, options);
  }
}
