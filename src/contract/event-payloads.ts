import type { EventKind } from '../domain/event-kinds.ts';

/**
 * What each kind of event says: the types behind `samples.ts`. Amounts are decimal strings and dates are Unix seconds.
 * A payload comes from the operator's own payment system and may carry more than this.
 */

type Common<Kind extends string> = {
  /** Where the sender gave one. */
  eventId?: string;
  event: Kind;
  networkId: number;
  /** The network's CAIP-2 name, such as `eip155:8453`. */
  network: string;
  dateCreated: number;
  /** Only in a post that somebody asked for to try the receiver. */
  test?: true;
};

type Terms = {
  agreementId: string;
  payer: string;
  payee: string;
  /** A decimal number as text, since most languages round a JSON number. */
  amount: string;
  currency: string;
  /** The contract or mint of the currency. */
  token: string;
};

type Agreement = Terms & { intervalDays: number };
type Transfer<Status extends string> = Terms & { transferId: string; status: Status };

/** A payer has signed an agreement. Transfers may fall due under it from now on. */
export type AgreementSignedUp = Common<'AgreementSignedUp'> &
  Agreement & { dateSigned: number; transactionHash: string };

/** An agreement has ended. No further transfer is made under it. */
export type AgreementCancelled = Common<'AgreementCancelled'> &
  Agreement & { dateCancelled: number; cancelledBy: string };

/** An agreement is going to end on `dateEnds`. Until then it goes on as before. */
export type ScheduledAgreementCancel = Common<'ScheduledAgreementCancel'> &
  Agreement & { dateScheduled: number; dateEnds: number };

/** A transfer was made out and waits to be paid. Nothing is on the network yet. */
export type TransferCreated = Common<'TransferCreated'> & Transfer<'created'> & { dateDue: number };

/** A transfer is in a transaction that the network has not made final: hand out nothing for it. */
export type TransferProcessed = Common<'TransferProcessed'> &
  Transfer<'processed'> & { transactionHash: string; confirmations: number };

/** The network has made the transaction of a transfer final. This is the one to act on. */
export type TransferFinalized = Common<'TransferFinalized'> &
  Transfer<'finalized'> & { transactionHash: string; confirmations: number };

/** A transfer was due on `dateDue` and is not paid. */
export type LatePayment = Common<'LatePayment'> & Transfer<'late'> & { dateDue: number; daysLate: number };

/** Every kind with its payload. */
export type Payloads = {
  AgreementSignedUp: AgreementSignedUp;
  AgreementCancelled: AgreementCancelled;
  ScheduledAgreementCancel: ScheduledAgreementCancel;
  TransferProcessed: TransferProcessed;
  TransferCreated: TransferCreated;
  TransferFinalized: TransferFinalized;
  LatePayment: LatePayment;
};

/** What a payload has beyond the fields of every one. */
export type FieldsOf<Kind extends EventKind> = Omit<Payloads[Kind], keyof Common<Kind>>;

/** What Paybell itself says when it takes a webhook out of service. */
export type WebhookSuspended = {
  eventId: string;
  event: 'webhook.suspended';
  /** `gone`: it answered 410. `failing`: five days without one success. */
  reason: 'gone' | 'failing';
  webhook: { webhookId: string; networkId: number; event: string; postUrl: string };
  dateSuspended: number;
};
