import type { z } from 'zod';
import type {
  reconciledEventSchema,
  reconciledEventsQuerySchema,
  reconciledEventsSchema,
  reconciliationQuerySchema,
  reconciliationSchema,
} from '../../contract/events/reconciliation.ts';
import {
  type BookEntry,
  bookLine,
  compareBooks,
  compareLines,
  type Difference,
} from '../../domain/reconciliation/book.ts';
import type { Query } from '../schema-types.ts';
import type { CallOptions, Transport } from '../transport.ts';

export type { BookEntry, Difference } from '../../domain/reconciliation/book.ts';
export type Reconciliation = z.output<typeof reconciliationSchema>;
export type ReconciliationQuery = Query<typeof reconciliationQuerySchema>;
export type ReconciledEvent = z.output<typeof reconciledEventSchema>;
export type ReconciledEvents = z.output<typeof reconciledEventsSchema>;
export type ReconciledEventsQuery = Query<typeof reconciledEventsQuerySchema>;

export type BookComparison = {
  readonly agrees: boolean;
  /** Empty if the books agree. */
  readonly differences: Difference[];
  /** Paybell's records of the day. */
  readonly paybell: Reconciliation;
};

/** Accepted, sent and acknowledged events of a day, and how they differ from your own list. */
export class Reconciliations {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get(query: ReconciliationQuery, options?: CallOptions): Promise<Reconciliation> {
    return this.#transport.call({ method: 'GET', path: '/reconciliation', query }, options);
  }

  listEvents(query: ReconciledEventsQuery, options?: CallOptions): Promise<ReconciledEvents> {
    return this.#transport.call({ method: 'GET', path: '/reconciliation/events', query }, options);
  }

  /** Every event of the day, in the order of acceptance. */
  async *listAllEvents(
    query: ReconciledEventsQuery,
    options?: CallOptions,
  ): AsyncGenerator<ReconciledEvent, void, undefined> {
    for (let after = query.after ?? null, isFirst = true; isFirst || after !== null; isFirst = false) {
      const page = await this.listEvents({ ...query, ...(after === null ? {} : { after }) }, options);
      yield* page.events;
      after = page.after;
    }
  }

  /** Compares the digests, and the events one by one where these differ. */
  async compare(
    query: ReconciliationQuery,
    yours: Iterable<BookEntry>,
    options?: CallOptions,
  ): Promise<BookComparison> {
    const own = [...yours];
    const paybell = await this.get(query, options);
    if ((await digestOf(own)) === paybell.sha256) return { agrees: true, differences: [], paybell };
    const events = await Array.fromAsync(this.listAllEvents(query, options));
    const differences = compareBooks(events, own);
    return { agrees: differences.length === 0, differences, paybell };
  }
}

async function digestOf(entries: readonly BookEntry[]): Promise<string> {
  const text = entries.map(bookLine).sort(compareLines).join('');
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
