import {
  type FoldedInvoice,
  foldInvoice,
  type InvoiceFate,
  type InvoicePayment,
  type InvoiceTerms,
} from '../../../domain/chain/invoices/invoice-state.ts';
import { RETRACTION } from '../../../domain/event-kinds.ts';
import type { Queries, SqlValue } from '../../database/database.ts';
import { chunks, type RowOf, valuesList } from '../../database/sql.ts';
import { type FactRow, factColumns } from '../facts/new-facts.ts';
import { factEventTable, invoiceTable } from '../tables.ts';

/** Invoices with their payments, as statements need them. */

export const invoiceColumns = invoiceTable.pick([
  'entityId',
  'invoiceId',
  'networkId',
  'sourceId',
  'token',
  'address',
  'shownToken',
  'shownAddress',
  'match',
  'amount',
  'base',
  'decimals',
  'tolerance',
  'dateExpires',
  'agreementId',
  'transferId',
  'reference',
  'metadata',
  'fromBlock',
  'untilBlock',
  'passedBlock',
  'lateBlock',
  'versions',
  'dateCancelled',
]);
export type InvoiceRow = RowOf<typeof invoiceColumns>;

export type InvoiceKey = { readonly entityId: string; readonly invoiceId: string };

export function keyOfInvoice({ entityId, invoiceId }: InvoiceKey): string {
  return `${entityId} ${invoiceId}`;
}

export function termsOf({
  base,
  tolerance,
  dateExpires,
}: Pick<InvoiceRow, 'base' | 'tolerance' | 'dateExpires'>): InvoiceTerms {
  return { amount: BigInt(base), tolerance, dateExpires };
}

export function fateOf({ dateCancelled, passedBlock }: Pick<InvoiceRow, 'dateCancelled' | 'passedBlock'>): InvoiceFate {
  return { isCancelled: dateCancelled !== null, passedBlock };
}

/** A fact that belongs to an invoice. */
export type InvoiceFact = FactRow & { readonly invoiceId: string };

export function paymentOf(fact: Pick<FactRow, PaymentColumn>): InvoicePayment {
  const { state, isDisputed, blockNumber, logIndex, blockS } = fact;
  return {
    base: BigInt(fact.invoiceBase ?? '0'),
    state,
    isDisputed: isDisputed === 1,
    blockNumber: blockNumber ?? 0,
    logIndex: logIndex ?? 0,
    blockS,
  };
}

export type PaymentColumn = 'invoiceBase' | 'state' | 'isDisputed' | 'blockNumber' | 'logIndex' | 'blockS';

export async function readInvoices(
  queries: Pick<Queries, 'all'>,
  invoices: readonly InvoiceKey[],
): Promise<Map<string, InvoiceRow>> {
  const from = 'from invoices where (entity_id, id) in';
  const keys = invoices.map(({ entityId, invoiceId }) => [entityId, invoiceId]);
  const rows = await invoiceColumns.allIn(queries, from, [], keys);
  return new Map(rows.map((row) => [keyOfInvoice(row), row]));
}

/** Reads the payments of invoices that are not dust, by the keys of the invoices. */
export async function readFactsOfInvoices(
  queries: Pick<Queries, 'all'>,
  invoices: readonly InvoiceKey[],
): Promise<Map<string, InvoiceFact[]>> {
  const from = 'from facts where invoice_id is not null and (entity_id, invoice_id) in';
  const keys = invoices.map(({ entityId, invoiceId }) => [entityId, invoiceId]);
  const rows = await factColumns.allIn(queries, from, [], keys, 'and is_dust = 0 order by block_number, log_index, id');
  const facts = rows.flatMap(({ invoiceId, ...row }) => (invoiceId === null ? [] : { ...row, invoiceId }));
  return Map.groupBy(facts, keyOfInvoice);
}

const publishedColumns = factEventTable.pick(['entityId', 'factId', 'revision', 'event', 'finality']);

type Published = RowOf<typeof publishedColumns>;
type Revision = Pick<Published, 'entityId' | 'factId' | 'revision'>;

/** The events that were made for payments, accepted or not. */
export class PublishedEvents {
  /** The event kinds by payment, revision and finality. */
  readonly #kinds = new Map<string, Set<string>>();

  add(published: Published): void {
    const key = keyOfLevel(published, published.finality);
    this.#kinds.set(key, (this.#kinds.get(key) ?? new Set()).add(published.event));
  }

  remove(published: Published): void {
    this.#kinds.get(keyOfLevel(published, published.finality))?.delete(published.event);
  }

  has(fact: Revision, event: string, finality: string): boolean {
    return this.#kinds.get(keyOfLevel(fact, finality))?.has(event) === true;
  }

  hasFinality(fact: Revision, finality: string): boolean {
    return (this.#kinds.get(keyOfLevel(fact, finality))?.size ?? 0) > 0;
  }
}

function keyOfLevel({ entityId, factId, revision }: Revision, finality: string): string {
  return `${entityId} ${factId} ${revision} ${finality}`;
}

export async function readPublished(
  queries: Pick<Queries, 'all'>,
  facts: readonly FactRow[],
): Promise<PublishedEvents> {
  const published = new PublishedEvents();
  for (const chunk of chunks(facts)) {
    const rows = await publishedColumns.all(
      queries,
      `select ${publishedColumns.list} from fact_events where event <> '${RETRACTION}' and (entity_id, fact_id, revision) in
         (values ${valuesList(chunk.length, 3, 0, ['text', 'text', 'bigint'])})`,
      chunk.flatMap(({ entityId, factId, revision }): SqlValue[] => [entityId, factId, revision]),
    );
    for (const row of rows) published.add(row);
  }
  return published;
}

/** The state of an invoice by the payments for which `isCounted` is true. */
export function foldRows(
  invoice: InvoiceRow,
  facts: readonly InvoiceFact[],
  isCounted: (payment: InvoicePayment, fact: InvoiceFact) => boolean,
): FoldedInvoice {
  const counted = facts.flatMap((fact) => {
    const payment = paymentOf(fact);
    return isCounted(payment, fact) ? payment : [];
  });
  return foldInvoice(termsOf(invoice), fateOf(invoice), counted);
}
