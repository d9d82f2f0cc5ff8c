import { DecimalSum } from './decimal-sum.ts';

/**
 * Compares the records of one day: Paybell's deliveries, and a receiver's own list. Both write an event as one line, so
 * that equal records have equal digests.
 */

export type BookEntry = {
  readonly eventId: string;
  readonly event: string;
  /** The address of the token, or the currency if there is no token. */
  readonly token?: string | null | undefined;
  /** A plain decimal such as `25.00`. */
  readonly amount?: string | null | undefined;
};

/**
 * The state of an event:
 *
 * - `acknowledged`: every delivery was acknowledged
 * - `sent`: at least one request was sent
 * - `waiting`: nothing was sent yet, or some deliveries are not created yet
 * - `failed`: every attempt has failed
 * - `nothing`: there is nothing to deliver, because no webhook matched or another event superseded it
 */
export const EVENT_PROGRESS = ['acknowledged', 'sent', 'waiting', 'failed', 'nothing'] as const;
export type EventProgress = (typeof EVENT_PROGRESS)[number];

/** Equal for an address in capital and small letters, and for `25`, `25.0` and `25.00`. */
export function bookLine({ eventId, event, token, amount }: BookEntry): string {
  return `${[eventId, event, canonicalToken(token) ?? '', canonicalAmount(amount) ?? ''].join('\t')}\n`;
}

export function canonicalToken(token: unknown): string | null {
  if (typeof token !== 'string' || token === '') return null;
  return /^0x[0-9a-f]+$/i.test(token) ? token.toLowerCase() : token;
}

/** `12.50`: digits with an optional sign and point. */
const PLAIN_DECIMAL = /^-?[0-9]+(?:\.[0-9]+)?$/;
/** Far more digits than a token has. Longer texts are not amounts. */
const MAX_AMOUNT_LENGTH = 160;

export function canonicalAmount(amount: unknown): string | null {
  const text = Number.isSafeInteger(amount) ? String(amount) : amount;
  if (typeof text !== 'string' || text.length > MAX_AMOUNT_LENGTH || !PLAIN_DECIMAL.test(text)) return null;
  const sum = new DecimalSum();
  sum.add(text);
  return sum.toString();
}

/** The order of the lines: by their bytes, which is the same in every programming language. */
export function compareLines(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export type Difference = {
  readonly eventId: string;
  /**
   * `missing`: only Paybell has the event. `unknown`: only you have the event on this day. `different`: both have the
   * event, with another kind, token or amount. `unacknowledged`: both have the event, but Paybell has no
   * acknowledgement. `twice`: you have the event more than once.
   */
  readonly difference: 'missing' | 'unknown' | 'different' | 'unacknowledged' | 'twice';
  readonly paybell: (BookEntry & { readonly progress: EventProgress }) | null;
  readonly yours: BookEntry | null;
};

type PaybellEntry = BookEntry & { readonly progress: EventProgress };

/**
 * Returns every event in which the records differ. An event that has nothing to deliver, or still waits, may be absent
 * from your records.
 */
export function compareBooks(paybell: Iterable<PaybellEntry>, yours: Iterable<BookEntry>): Difference[] {
  const differences: Difference[] = [];
  const own = new Map<string, BookEntry>();
  for (const entry of yours) {
    if (own.has(entry.eventId))
      differences.push({ ...nameOf(entry), difference: 'twice', paybell: null, yours: entry });
    own.set(entry.eventId, entry);
  }
  for (const entry of paybell) {
    const mine = own.get(entry.eventId) ?? null;
    own.delete(entry.eventId);
    const difference = differenceOf(entry, mine);
    if (difference !== null) differences.push({ ...nameOf(entry), difference, paybell: entry, yours: mine });
  }
  for (const entry of own.values()) {
    differences.push({ ...nameOf(entry), difference: 'unknown', paybell: null, yours: entry });
  }
  return differences;
}

const nameOf = ({ eventId }: BookEntry) => ({ eventId });

function differenceOf(paybell: PaybellEntry, yours: BookEntry | null): Difference['difference'] | null {
  const { progress } = paybell;
  if (yours === null) return progress === 'nothing' || progress === 'waiting' ? null : 'missing';
  if (bookLine(paybell) !== bookLine(yours)) return 'different';
  return progress === 'acknowledged' ? null : 'unacknowledged';
}
