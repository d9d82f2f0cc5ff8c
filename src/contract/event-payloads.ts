import type { EventKind } from '../domain/event-kinds.ts';

/**
 * The payload of each event kind. Amounts are decimal strings and dates are Unix seconds. Payloads come from the
 * operator's own payment system and can have more fields than these.
 */

type Common<Kind extends string> = {
  /** Present when the sender set it. */
  eventId?: string;
  event: Kind;
  networkId: number;
  /** The network's CAIP-2 name, such as `eip155:8453`. */
  network: string;
  dateCreated: number;
  /** Only in a test request. */
  test?: true;
};

type Terms = {
  agreementId: string;
  payer: string;
  payee: string;
  /** A decimal string, because many languages would round a JSON number. */
  amount: string;
  currency: string;
  /** The contract or mint of the currency. */
  token: string;
};

type Agreement = Terms & { intervalDays: number };
type Transfer<Status extends string> = Terms & { transferId: string; status: Status };

/** A payer has signed an agreement. Transfers can become due under it from now on. */
export type AgreementSignedUp = Common<'AgreementSignedUp'> &
  Agreement & { dateSigned: number; transactionHash: string };

/** An agreement has ended. No further transfers are made under it. */
export type AgreementCancelled = Common<'AgreementCancelled'> &
  Agreement & { dateCancelled: number; cancelledBy: string };

/** An agreement will end on `dateEnds`. Until then it stays in force. */
export type ScheduledAgreementCancel = Common<'ScheduledAgreementCancel'> &
  Agreement & { dateScheduled: number; dateEnds: number };

/** A transfer was created and is waiting for payment. Nothing is on the network yet. */
export type TransferCreated = Common<'TransferCreated'> & Transfer<'created'> & { dateDue: number };

/** A transfer is in a transaction that is not final yet. Do not deliver goods for it. */
export type TransferProcessed = Common<'TransferProcessed'> &
  Transfer<'processed'> & { transactionHash: string; confirmations: number };

/** The transaction of a transfer is final. This is the event to act on. */
export type TransferFinalized = Common<'TransferFinalized'> &
  Transfer<'finalized'> & { transactionHash: string; confirmations: number };

/** A transfer was due on `dateDue` and has not been paid. */
export type LatePayment = Common<'LatePayment'> & Transfer<'late'> & { dateDue: number; daysLate: number };

/** The payload of each event kind. */
export type Payloads = {
  AgreementSignedUp: AgreementSignedUp;
  AgreementCancelled: AgreementCancelled;
  ScheduledAgreementCancel: ScheduledAgreementCancel;
  TransferProcessed: TransferProcessed;
  TransferCreated: TransferCreated;
  TransferFinalized: TransferFinalized;
  LatePayment: LatePayment;
};

/** The fields of a payload besides those that all payloads have. */
export type FieldsOf<Kind extends EventKind> = Omit<Payloads[Kind], keyof Common<Kind>>;

/** Sent by Paybell itself when it suspends a webhook. */
export type WebhookSuspended = {
  eventId: string;
  event: 'webhook.suspended';
  /** `gone`: the receiver responded with 410. `failing`: no delivery succeeded for five days. */
  reason: 'gone' | 'failing';
  webhook: { webhookId: string; networkId: number; event: string; postUrl: string };
  dateSuspended: number;
};
