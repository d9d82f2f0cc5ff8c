import type { InvoiceState } from '../chain/invoices/invoice-state.ts';

/**
 * Supersession: a later event can make a waiting event unnecessary, which is then not sent. A reminder that reaches the
 * payer after the payment is worse than no reminder. All rules are in this table.
 */

type Rule = {
  /** The kind that is superseded once an event of a kind in `by` exists. */
  readonly superseded: string;
  readonly by: readonly string[];
  /** The field of the payload that must be equal in both events. */
  readonly subject: keyof Subjects;
  /** Whether the event is also superseded on arrival, if the other event came first. */
  readonly onArrival: boolean;
};

const RULES: readonly Rule[] = [
  {
    superseded: 'LatePayment',
    by: ['TransferProcessed', 'TransferFinalized'],
    subject: 'transferId',
    onArrival: true,
  },
  // A cancellation that is scheduled after the agreement was cancelled is a new cancellation.
  { superseded: 'ScheduledAgreementCancel', by: ['AgreementCancelled'], subject: 'agreementId', onArrival: false },
];

/** The subjects of an event: the fields of its payload that are read for order and supersession. */
export type Subjects = { readonly agreementId: string | null; readonly transferId: string | null };

export const MAX_SUBJECT_LENGTH = 128;

/**
 * Null unless the field has a text of 1 to 128 characters without NUL. PostgreSQL cannot store a NUL, and no list can
 * filter by it.
 */
export function readSubject(value: unknown): string | null {
  if (typeof value !== 'string' || value === '' || value.length > MAX_SUBJECT_LENGTH) return null;
  return value.includes('\0') ? null : value;
}

/** The part of an event in a rule. Two events belong together if their subjects are equal. */
export type Role = {
  readonly subject: string;
  readonly kind: 'supersedes' | 'superseded';
  /** The kind that is superseded. */
  readonly superseded: string;
  readonly onArrival: boolean;
};

/**
 * Null for an event without a rule. No kind is in two rules.
 *
 * A payment of an invoice ends a waiting `LatePayment` only if the invoice is paid with it. The `LatePayment` of an
 * invoice is not superseded on arrival: Paybell creates that event after payments of the transfer that were too low or
 * were retracted.
 */
export function roleOf(event: string, subjects: Subjects, invoiceState: InvoiceState | null = null): Role | null {
  for (const { superseded, by, subject: field, onArrival } of RULES) {
    const kind = event === superseded ? 'superseded' : by.includes(event) ? 'supersedes' : null;
    const value = kind === null ? null : subjects[field];
    if (kind === null || value === null) continue;
    if (kind === 'supersedes' && !isPaid(invoiceState)) return null;
    return { subject: `${field} ${value}`, kind, superseded, onArrival: onArrival && invoiceState === null };
  }
  return null;
}

/** An event without an invoice means that its transfer was paid. */
function isPaid(state: InvoiceState | null): boolean {
  return state === null || state === 'paid' || state === 'overpaid';
}

/** Retention must read the payloads of these kinds when it removes their events. */
export const KINDS_WITH_ROLE: readonly string[] = RULES.flatMap(({ superseded, by }) => [superseded, ...by]);

export function hasRole(event: string): boolean {
  return KINDS_WITH_ROLE.includes(event);
}
