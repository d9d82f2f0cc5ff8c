import type { PreparedInvoice } from '../../../src/store/chain/invoices/new-invoices.ts';
import type { Transaction } from '../fleet/network.ts';
import { History, isAnswered, openSpan, type Span } from './history.ts';

/** What those who use the service know: the requests that they sent, and which of them were answered. */

/** Kinds of events of senders: several, so that an endpoint has several webhooks whose order is one. */
export const POSTED: readonly string[] = ['AgreementSignedUp', 'ScheduledAgreementCancel', 'AgreementCancelled'];
/** Paybell does not send the first any longer once it has accepted the second for the same agreement. */
const [SUPERSEDED, SUPERSEDING] = ['ScheduledAgreementCancel', 'AgreementCancelled'];
/** The kind of events of payments, which the network leads to. */
export const PAID = 'TransferProcessed';
/** The kinds of events of invoices themselves. */
export const [INVOICED, LATE] = ['TransferCreated', 'LatePayment'] as const;

export type WebhookModel = {
  readonly name: string;
  readonly event: string;
  readonly registration: Span;
  /** Known once the registration is answered. */
  webhookId: string | null;
  readonly postUrl: History<string>;
  /** The least amount that it wants; null for every amount. */
  readonly filter: History<number | null>;
  /** As it is stored. */
  readonly finality: History<string>;
  deletion: Span | null;
};

export type EventModel = {
  readonly eventId: string;
  readonly event: string;
  readonly body: string;
  readonly amount: number;
  readonly agreementId: string | null;
  readonly acceptance: Span;
  /** Later requests with the same event. */
  readonly repetitions: Span[];
  /** The transaction that it is held for. */
  readonly payment: PaymentModel | null;
  retraction: { readonly eventId: string; readonly acceptance: Span } | null;
};

export type PaymentModel = {
  readonly name: string;
  readonly transaction: Transaction;
  /** The contract or wallet that it pays; null for a payment that an event is held for. */
  readonly contract: number | null;
  /** When it was first in a block; infinite before. */
  minedAtMs: number;
  /** The event that is held for it; null for a payment that a source reads. */
  readonly heldEventId: string | null;
  /** The amount that rules compare, as an `amountKey`. */
  readonly ruleAmount: string | null;
  /** The transfer to an address of invoices that it is; absent for others. */
  readonly transfer?: TransferModel;
};

export type TransferModel = {
  readonly address: string;
  readonly base: bigint;
  /** The amount that rules compare if an invoice takes the payment. */
  readonly invoicedRuleAmount: string | null;
};

export type InvoiceModel = {
  /** Its reference. */
  readonly name: string;
  readonly prepared: PreparedInvoice;
  readonly creation: Span;
  /** Null before the first answer. */
  answer: { readonly invoiceId: string; readonly fromBlock: number; readonly head: number } | null;
  cancellation: Span | null;
};

/** Deliveries that were asked for again: one, or all that had been made by then. */
export type RedeliveryModel = Span & { readonly deliveryId: string | null };

export class Model {
  readonly webhooks: WebhookModel[] = [];
  readonly events: EventModel[] = [];
  readonly payments: PaymentModel[] = [];
  /** Those whose first request was rejected are not among them. */
  readonly invoices: InvoiceModel[] = [];
  readonly redeliveries: RedeliveryModel[] = [];
  /** The ids of deliveries that a feed showed before their first attempt: its reader has them. */
  readonly shown = new Set<string>();
  /** By URL: whether the endpoint keeps the events of an agreement in order. */
  readonly ordering = new Map<string, History<boolean>>();
  /** Contracts that the entity has a source for. */
  readonly followed = new Set([1]);
  /** The sources that can be deleted, by contract. */
  readonly sources = new Map<number, string>();
  /** Contracts whose source someone asked to delete: their payments may be read or not. */
  readonly unfollowed = new Set<number>();
  readonly clockSteps: { readonly atMs: number; readonly byMs: number }[] = [];
  readonly retentions: Span[] = [];
  /** For each reconciliation, the events that it called acknowledged too early. */
  readonly reconciliations: string[][] = [];

  addWebhook(name: string, event: string, postUrl: string, defaultFinality: string, nowMs: number): WebhookModel {
    const webhook: WebhookModel = {
      name,
      event,
      registration: openSpan(nowMs),
      webhookId: null,
      postUrl: new History(postUrl),
      filter: new History<number | null>(null),
      finality: new History(defaultFinality),
      deletion: null,
    };
    this.webhooks.push(webhook);
    return webhook;
  }

  /** Webhooks that can be changed: their registration was answered, and nobody has asked for their deletion. */
  get present(): WebhookModel[] {
    return this.webhooks.filter(({ webhookId, deletion }) => webhookId !== null && deletion === null);
  }

  /** Webhooks that were registered before a time, for certain, and are never deleted. */
  lastingSince(event: string, beforeMs: number): (WebhookModel & { webhookId: string })[] {
    return this.webhooks.flatMap((webhook) => {
      const { registration, deletion, webhookId } = webhook;
      const isThere = webhook.event === event && registration.endMs < beforeMs && deletion === null;
      return isThere && webhookId !== null ? Object.assign(webhook, { webhookId }) : [];
    });
  }

  get accepted(): EventModel[] {
    return this.events.filter(({ acceptance }) => isAnswered(acceptance));
  }

  /** Whether another event may have made it pointless: one that was not certainly accepted before it. */
  mayBeSuperseded({ event, agreementId, acceptance }: EventModel): boolean {
    if (event !== SUPERSEDED || agreementId === null) return false;
    return this.events.some(
      (other) =>
        other.event === SUPERSEDING &&
        other.agreementId === agreementId &&
        this.acceptancesOf(other).some(({ endMs }) => endMs >= acceptance.startMs),
    );
  }

  /** A request with an event that retention has removed is a second acceptance of that event. */
  acceptancesOf({ acceptance, repetitions }: EventModel): Span[] {
    const isRemovedBefore = ({ endMs }: Span) => this.retentions.some(({ startMs }) => startMs <= endMs);
    return [acceptance, ...repetitions.filter(isRemovedBefore)];
  }

  orderingOf(postUrl: string): History<boolean> {
    const known = this.ordering.get(postUrl) ?? new History(false);
    this.ordering.set(postUrl, known);
    return known;
  }
}
