import { caip2 } from '../../../domain/chain/families/families.ts';
import { formatAmount } from '../../../domain/chain/invoices/amounts.ts';
import type { FoldedInvoice } from '../../../domain/chain/invoices/invoice-state.ts';
import type { Subject } from '../publish/outbox.ts';
import type { InvoiceKey, InvoiceRow } from './rows.ts';

/** The payloads of the events of an invoice itself, and its member in the events of its payments. */

export type InvoiceEvent = 'TransferCreated' | 'LatePayment';

/** An invoice has each of its events once. */
export function invoiceEventId(invoiceId: string, event: string): string {
  return `${invoiceId}_${event}`;
}

const INVOICE_PREFIX = 'inv_';

/** Events of invoices wait with the events of facts, under the id of the invoice. */
export function invoiceSubject({ entityId, invoiceId }: InvoiceKey): Subject {
  return { entityId, factId: invoiceId, revision: 1 };
}

export function isInvoiceSubject(factId: string): boolean {
  return factId.startsWith(INVOICE_PREFIX);
}

type Shown = Pick<InvoiceRow, 'invoiceId' | 'reference' | 'metadata' | 'amount' | 'decimals'>;

/** The member `invoice` of a payload. */
export function invoiceMember(invoice: Shown, folded: FoldedInvoice, version: number): Record<string, unknown> {
  const { invoiceId, reference, metadata, amount, decimals } = invoice;
  const { state, received, due, isLate, isFinal } = folded;
  return {
    invoiceId,
    ...(reference !== null && { reference }),
    ...(metadata !== null && { metadata: JSON.parse(metadata) as unknown }),
    state,
    amount,
    received: formatAmount(received, decimals),
    due: formatAmount(due, decimals),
    isLate,
    isFinal,
    version,
  };
}

type Described = Shown &
  Pick<InvoiceRow, 'networkId' | 'transferId' | 'agreementId' | 'shownAddress' | 'shownToken' | 'base' | 'dateExpires'>;

export function invoicePayload(
  invoice: Described,
  event: InvoiceEvent,
  { nowMs, symbol, member }: { nowMs: number; symbol: string | null; member: Record<string, unknown> },
): Record<string, unknown> {
  const { invoiceId, networkId, transferId, agreementId, reference, amount, base, dateExpires } = invoice;
  return {
    eventId: invoiceEventId(invoiceId, event),
    event,
    networkId,
    network: caip2(networkId),
    dateCreated: Math.floor(nowMs / 1000),
    transferId,
    ...(agreementId !== null && { agreementId }),
    ...(reference !== null && { reference }),
    payee: invoice.shownAddress,
    amount,
    amountBase: base,
    token: invoice.shownToken,
    ...(symbol !== null && { symbol }),
    status: event === 'LatePayment' ? 'late' : 'created',
    dateDue: dateExpires,
    ...(event === 'LatePayment' && { daysLate: 0 }),
    invoice: member,
  };
}
