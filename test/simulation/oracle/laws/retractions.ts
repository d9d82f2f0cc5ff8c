import { RETRACTION } from '../../../../src/domain/event-kinds.ts';
import { factEventId } from '../../../../src/store/chain/publish/fact-payload.ts';
import { isAnswered } from '../../model/history.ts';
import { PAID, POSTED, type WebhookModel } from '../../model/model.ts';
import type { Evidence } from '../evidence.ts';
import type { Law, Verdict } from '../law.ts';
import { inventedPayments, lastingWebhooks } from '../payments.ts';

type Registered = WebhookModel & { readonly webhookId: string };

export const retractions: Law = {
  id: 'L6',
  says: 'A retraction reaches every receiver that has the original, no other webhook, and never before the original.',
  check: (evidence, verdict) => {
    for (const event of evidence.model.accepted) {
      const { retraction } = event;
      if (retraction === null || !isAnswered(retraction.acceptance) || !POSTED.includes(event.event)) continue;
      if (evidence.findings.view.acceptedAnew.has(event.eventId)) continue;
      for (const webhook of evidence.model.lastingSince(event.event, event.acceptance.startMs)) {
        requireRetracted(evidence, verdict, webhook, event.eventId, retraction.eventId);
      }
    }
    const payments = [...evidence.model.payments, ...inventedPayments(evidence)];
    for (const payment of payments) checkPayment(evidence, verdict, payment);
  },
};

/** Each revision of a payment that is not its present one was retracted, and so was the last one of a payment that is gone. */
function checkPayment(evidence: Evidence, verdict: Verdict, payment: Parameters<Evidence['isCanonical']>[0]): void {
  const [fact] = evidence.factsOf(payment);
  if (fact === undefined) return;
  for (const webhook of lastingWebhooks(evidence, payment)) {
    const deliveries = evidence.paymentDeliveries(payment, webhook.webhookId);
    for (const { delivery, isRetraction, revision, finality } of deliveries) {
      if (isRetraction || revision === null || finality === null) continue;
      const isRetracted = revision < fact.revision || !evidence.isCanonical(payment);
      const target = `${PAID}_${finality}`;
      const retractionId = factEventId(fact.factId, revision, RETRACTION, target);
      if (isRetracted) requireRetracted(evidence, verdict, webhook, delivery.eventId, retractionId);
    }
    if (payment.heldEventId === null || evidence.isCanonical(payment)) continue;
    // A delivery that retention has removed no longer says who got the original.
    const isKnown = deliveries.some(
      (one) => !one.isRetraction && one.delivery.place !== 'removed' && evidence.receiptsOf(one.delivery).length > 0,
    );
    const isRetracted = deliveries.some((one) => one.isRetraction && evidence.receiptsOf(one.delivery).length > 0);
    verdict.require(
      !isKnown || isRetracted,
      () => `${payment.name} is gone, and ${webhook.name} received it and no retraction`,
    );
  }
}

function requireRetracted(
  evidence: Evidence,
  verdict: Verdict,
  { name, webhookId }: Registered,
  originalId: string,
  retractionId: string,
): void {
  // Retention had removed what says who got the original, before it was retracted.
  const made = evidence.deliveriesOf(originalId, webhookId);
  if (made.some(({ place }) => place === 'removed')) return;
  const originals = evidence.receiptsFor(originalId, webhookId);
  const retracted = evidence.receiptsFor(retractionId, webhookId);
  const [first] = retracted;
  const last = originals.at(-1);
  if (last !== undefined) {
    verdict.require(first !== undefined, () => `${name} received ${originalId} and not its retraction`);
    const isInOrder = first === undefined || last.atMs <= first.atMs;
    verdict.require(isInOrder, () => `${name} received ${originalId} after its retraction`);
  }
  const wasShown = made.some(({ deliveryId }) => evidence.model.shown.has(deliveryId));
  verdict.require(
    !wasShown || retracted.length > 0,
    () => `${name} showed ${originalId} in its feed and received no retraction`,
  );
  // A claim that is returned after the event was retracted has its retraction already.
  const mayHaveIt = made.some(({ mayBeReceived, wasReturned }) => mayBeReceived || wasReturned);
  verdict.require(
    mayHaveIt || evidence.deliveriesOf(retractionId, webhookId).length === 0,
    () => `${originalId} has a retraction for ${name}, which cannot have received it`,
  );
}
