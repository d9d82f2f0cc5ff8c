import type { Receipt } from '../../fleet/receivers.ts';
import type { Evidence, PaymentDelivery } from '../evidence.ts';
import type { Law } from '../law.ts';
import { concernedWebhooks } from '../payments.ts';

type Heard = { readonly receipt: Receipt; readonly about: PaymentDelivery };

/** Everything that a receiver was sent about a payment, in the order of its arrival. */
function heardOf(evidence: Evidence, deliveries: readonly PaymentDelivery[]): Heard[] {
  const heard = deliveries.flatMap((about) =>
    evidence.receiptsOf(about.delivery).map((receipt) => ({ receipt, about })),
  );
  return heard.sort((a, b) => a.receipt.atMs - b.receipt.atMs);
}

export const lastWord: Law = {
  id: 'L5',
  says: 'The last request that a receiver gets for a payment describes its present state.',
  check: (evidence, verdict) => {
    for (const payment of evidence.model.payments) {
      const [fact] = evidence.factsOf(payment);
      const stands = evidence.isCanonical(payment);
      for (const webhook of concernedWebhooks(evidence, payment)) {
        const heard = heardOf(evidence, evidence.paymentDeliveries(payment, webhook.webhookId));
        const last = heard.at(-1)?.about;
        if (last === undefined) continue;
        const describesPresent = ({ isRetraction, revision }: PaymentDelivery) =>
          isRetraction !== stands && (revision === null || revision === fact?.revision);
        // A state that never reached the receiver is a matter of other laws.
        const received = new Map(heard.map(({ about }) => [about.delivery.deliveryId, about]));
        const presents = [...received.values()].filter(describesPresent).length;
        // A held event has the same id each time that its payment is in the chain.
        const isHeard = payment.heldEventId === null ? presents > 0 : presents > (received.size - (stands ? 0 : 1)) / 2;
        if (!isHeard) continue;
        const word = `${last.delivery.eventId}${last.isRetraction ? ', a retraction' : ''}`;
        verdict.require(
          describesPresent(last),
          () => `${payment.name} ${stands ? 'stands' : 'is gone'}, and the last word to ${webhook.name} is ${word}`,
        );
      }
    }
  },
};
