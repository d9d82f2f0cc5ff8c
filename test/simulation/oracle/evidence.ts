import type { Invoice } from '../../../src/contract/chain/invoices.ts';
import type { Feed } from '../../../src/contract/endpoints/feed.ts';
import { RETRACTION } from '../../../src/domain/event-kinds.ts';
import type { Receipt } from '../fleet/receivers.ts';
import type { PaymentModel } from '../model/model.ts';
import type { Simulation } from '../simulation.ts';
import type { DeliveryView, FactView, StoreView, TimesAhead, WorkLeft } from './view.ts';

/** What the run has left in the store, and what was seen of it on the way. */
export type Findings = {
  readonly view: StoreView;
  readonly workLeft: WorkLeft;
  /** Events with deliveries that could be claimed, and were not for too long. */
  readonly overdue: readonly string[];
  /** A while after everything was healed. */
  readonly timesAhead: TimesAhead;
  readonly wrongCounters: readonly string[];
  /** By the id of the endpoint. */
  readonly feeds: ReadonlyMap<string, Feed>;
  /** As the API shows them, by id. */
  readonly invoices: ReadonlyMap<string, Invoice>;
};

/** A delivery about a payment. */
export type PaymentDelivery = {
  readonly delivery: DeliveryView;
  readonly isRetraction: boolean;
  /** Null for a held event, which has one id in every revision. */
  readonly revision: number | null;
  /** The finality at which it was published; of a retraction, the event and finality that it retracts. */
  readonly finality: string | null;
};

/** Everything that the laws look at. */
export class Evidence {
  readonly #deliveries: ReadonlyMap<string, readonly DeliveryView[]>;
  readonly #receipts: ReadonlyMap<string, readonly Receipt[]>;

  constructor(
    readonly simulation: Simulation,
    readonly findings: Findings,
  ) {
    const { deliveries } = findings.view;
    this.#deliveries = Map.groupBy(deliveries, ({ eventId, webhookId }) => `${eventId} ${webhookId}`);
    this.#receipts = Map.groupBy(simulation.receivers.receipts, ({ deliveryId }) => deliveryId);
  }

  get model() {
    return this.simulation.model;
  }

  /** Every delivery of an event to a webhook that was ever made. */
  deliveriesOf(eventId: string, webhookId: string): readonly DeliveryView[] {
    return this.#deliveries.get(`${eventId} ${webhookId}`) ?? [];
  }

  receiptsOf({ deliveryId }: DeliveryView): readonly Receipt[] {
    return this.#receipts.get(deliveryId) ?? [];
  }

  /** In the order of their arrival. */
  receiptsFor(eventId: string, webhookId: string): readonly Receipt[] {
    const receipts = this.deliveriesOf(eventId, webhookId).flatMap((delivery) => this.receiptsOf(delivery));
    return receipts.toSorted((a, b) => a.atMs - b.atMs);
  }

  factsOf({ transaction }: PaymentModel): readonly FactView[] {
    return this.findings.view.facts.filter(({ transactionHash }) => transactionHash === transaction.hash);
  }

  isCanonical({ transaction }: PaymentModel): boolean {
    return this.simulation.network.isCanonical(transaction);
  }

  /** The block on the chain that has the payment; null for none. */
  blockOf({ transaction }: PaymentModel): number | null {
    return this.simulation.network.blockOf(transaction);
  }

  /** Every delivery about a payment to a webhook, retractions included. */
  paymentDeliveries(payment: PaymentModel, webhookId: string): PaymentDelivery[] {
    const { heldEventId } = payment;
    const prefixes = this.factsOf(payment).map(({ factId }) => `${factId}_`);
    return this.findings.view.deliveries.flatMap((delivery): PaymentDelivery[] => {
      if (delivery.webhookId !== webhookId) return [];
      if (heldEventId !== null && delivery.eventId === heldEventId) {
        return [{ delivery, isRetraction: false, revision: null, finality: null }];
      }
      const prefix = prefixes.find((one) => delivery.eventId.startsWith(one));
      if (prefix === undefined) return [];
      const [revision = '', event = '', ...finality] = delivery.eventId.slice(prefix.length).split('_');
      const isRetraction = event === RETRACTION;
      return [{ delivery, isRetraction, revision: Number(revision), finality: finality.join('_') }];
    });
  }
}
