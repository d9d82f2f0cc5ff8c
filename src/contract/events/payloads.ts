import type { Finality } from '../../domain/chain/finality.ts';
import type { EventKind } from '../../domain/event-kinds.ts';

/**
 * The payload of each event kind. Amounts are decimal strings and dates are Unix seconds. Payloads come from the
 * operator's own payment system and can have more fields than these. An event that Paybell read from a network itself has
 * those fields that the log proves, and those of `OnChain`.
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

/** The state of the invoice that a payment belongs to, counted at the finality of the event. */
export type EventInvoice = {
  invoiceId: string;
  /** Your own id of the invoice. */
  reference?: string;
  /** Your own texts. */
  metadata?: Record<string, string>;
  state: 'open' | 'underpaid' | 'paid' | 'overpaid' | 'expired' | 'cancelled';
  /** The amount that is expected. */
  amount: string;
  received: string;
  /** The amount that is missing. */
  due: string;
  /** Whether the sum was reached in a block after the expiry. */
  isLate: boolean;
  /** Whether the payments that cannot be undone are enough. Act on it together with `paid` or `overpaid`. */
  isFinal: boolean;
  /** Rises with each event of the invoice at this finality. The highest version is true. */
  version: number;
};

/** Only in events of an invoice. */
type OfInvoice = { invoice?: EventInvoice };

type Agreement = Terms & { intervalDays: number };
type Transfer<Status extends string> = Terms & { transferId: string; status: Status };

/**
 * The position of the log that an event was made from, and its finality. Only in events that Paybell read from a
 * network.
 */
type OnChain = {
  transactionHash?: string;
  blockNumber?: number;
  blockHash?: string;
  logIndex?: number;
  /** The contract that wrote the log. */
  contract?: string;
  /** The finality of the webhook, which the transaction has reached. */
  finality?: Finality;
  /** The number of blocks from the transaction's block to the newest one, both included. */
  confirmations?: number;
  /** 1 at first, and one more each time that the transaction comes back after a retraction. */
  revision?: number;
  /** The amount in the smallest unit of the token, as a whole number in decimal digits. */
  amountBase?: string;
  /** The payment, under which the API has it. */
  paymentId?: string;
  /** Symbol of the token for people to read: anyone can choose one, so compare `token`. */
  symbol?: string;
};

/** A payer has signed an agreement. Transfers can become due under it from now on. */
export type AgreementSignedUp = Common<'AgreementSignedUp'> &
  OnChain &
  Agreement & { dateSigned: number; transactionHash: string };

/** An agreement has ended. No further transfers are made under it. */
export type AgreementCancelled = Common<'AgreementCancelled'> &
  OnChain &
  Agreement & { dateCancelled: number; cancelledBy: string };

/** An agreement will end on `dateEnds`. Until then it stays in force. */
export type ScheduledAgreementCancel = Common<'ScheduledAgreementCancel'> &
  OnChain &
  Agreement & { dateScheduled: number; dateEnds: number };

/** A transfer was created and is waiting for payment. Nothing is on the network yet. */
export type TransferCreated = Common<'TransferCreated'> & OfInvoice & Transfer<'created'> & { dateDue: number };

/** A transfer is in a transaction that is not final yet. Do not deliver goods for it. */
export type TransferProcessed = Common<'TransferProcessed'> &
  OnChain &
  OfInvoice &
  Transfer<'processed'> & { transactionHash: string; confirmations: number };

/** The transaction of a transfer is final. This is the event to act on. */
export type TransferFinalized = Common<'TransferFinalized'> &
  OnChain &
  OfInvoice &
  Transfer<'finalized'> & { transactionHash: string; confirmations: number };

/** A transfer was due on `dateDue` and has not been paid. */
export type LatePayment = Common<'LatePayment'> & OfInvoice & Transfer<'late'> & { dateDue: number; daysLate: number };

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

/**
 * Retracts an event that was sent before: undo what you did for `retracts.eventId`. Webhooks cannot register for it.
 * Paybell sends it to every webhook that may have received the original.
 */
export type EventRetracted = Common<'EventRetracted'> & {
  retracts: {
    /** The `eventId` of the retracted event; in its request, the header `paybell-event-id`. */
    eventId: string;
    /** The kind of that event. Always present when Paybell itself retracts it. */
    event?: string;
  };
  /**
   * `reorg`: the network no longer has the transaction. `sender`: the operator retracted the event. `not_on_chain`: one
   * node showed the payment, and most nodes deny it.
   */
  reason: 'reorg' | 'sender' | 'not_on_chain';
  transactionHash?: string;
  transferId?: string;
  agreementId?: string;
  /** The payment that is gone, if the retracted event was about one. Leave it out of every sum. */
  paymentId?: string;
  /** The amount of that payment, as a decimal. */
  amount?: string;
  /** The amount in the smallest unit of the token. */
  amountBase?: string;
  token?: string;
  /** The invoice that the payment no longer pays. */
  invoice?: EventInvoice;
  /** The block that the transaction was in, and that the network no longer has. */
  lostBlockNumber?: number;
  lostBlockHash?: string;
  /** The revision of the retracted event. */
  revision?: number;
};

/** Sent by Paybell itself when it suspends a webhook. */
export type WebhookSuspended = {
  eventId: string;
  event: 'webhook.suspended';
  /** `gone`: the receiver responded with 410. `failing`: no delivery succeeded for five days. */
  reason: 'gone' | 'failing';
  webhook: { webhookId: string; networkId: number; event: string; postUrl: string };
  dateSuspended: number;
};

type AlertedEndpoint = { endpointId: string; postUrl: string; name: string | null };

/** Sent by Paybell itself when all attempts to an endpoint have failed for an hour, and then every day. */
export type EndpointFailing = {
  eventId: string;
  event: 'endpoint.failing';
  endpoint: AlertedEndpoint;
  /** The webhooks without a success for an hour, ten at most: those that have failed longest. */
  webhooks: { webhookId: string; networkId: number; event: string }[];
  /** How many webhooks have had no success for an hour. */
  totalWebhooks: number;
  dateFailingSince: number;
  /** When Paybell suspends the first of these webhooks, unless a delivery succeeds before. */
  dateSuspension: number;
};

/** Sent by Paybell itself when a delivery succeeds after `endpoint.failing`. */
export type EndpointRecovered = {
  eventId: string;
  event: 'endpoint.recovered';
  endpoint: AlertedEndpoint;
  dateFailingSince: number;
  /** Accurate to about a minute. */
  dateRecovered: number;
};
