/**
 * Bodies of events, as a payment system sends them, without an id: Paybell makes one. Each event is about another transfer, and one
 * event in four also names one of thousands of agreements. With equal ids, all events would share one
 * key of each index and, if a rule of supersession applies, one lock.
 */

/** The network of every event. */
export const NETWORK = 8453;
/** The kind of most events. No rule of supersession is about it, so that nothing but its delivery is measured. */
export const KIND = 'TransferCreated';
/** A prime number, so that one event in four reaches every agreement. */
export const AGREEMENTS = 9_973;
const AGREEMENT_EVERY = 4;
/** Ids have a fixed length, so that all bodies of a template have the same length. */
export const TRANSFER_DIGITS = 10;
export const AGREEMENT_DIGITS = 4;

function transferOf(number: number): string {
  return `trf_${String(number).padStart(TRANSFER_DIGITS, '0')}`;
}

function agreementOf(number: number): string {
  return `agr_${String(number % AGREEMENTS).padStart(AGREEMENT_DIGITS, '0')}`;
}

/** Ids that stand in the templates until `numbered` replaces them. */
export const MARKS = { transfer: transferOf(0), agreement: agreementOf(0) };

export type Subjects = { readonly transferId: string; readonly agreementId?: string };

function subjectsOf(number: number): Subjects {
  const transferId = transferOf(number);
  return number % AGREEMENT_EVERY === 0 ? { transferId, agreementId: agreementOf(number) } : { transferId };
}

let next = 0;

/** Returns the first of `count` numbers that no other event of this process has. */
export function takeNumbers(count: number): number {
  const first = next;
  next += count;
  return first;
}

/** For bodies that a bench makes itself. */
export function nextSubjects(): Subjects {
  return subjectsOf(takeNumbers(1));
}

export function nextEvent(): { readonly event: string } & Subjects {
  return { event: KIND, ...nextSubjects() };
}

/** A load generator sends them in turn, each with the ids of its number. */
export function eventTemplates(event: string): readonly string[] {
  return Array.from({ length: AGREEMENT_EVERY }, (_, place) =>
    JSON.stringify({
      event,
      networkId: NETWORK,
      sentAtMs: 0,
      transferId: MARKS.transfer,
      ...(place === 0 && { agreementId: MARKS.agreement }),
      amount: '25.00',
      currency: 'USDC',
    }),
  );
}

export function numbered(templates: readonly string[], number: number): string {
  const template = templates[number % templates.length] ?? '';
  return template.replace(MARKS.transfer, transferOf(number)).replace(MARKS.agreement, agreementOf(number));
}

export function eventBody(event: string): string {
  return numbered(eventTemplates(event), takeNumbers(1));
}
