import { finalityFor } from '../../../../src/domain/chain/finality-by-amount.ts';
import type { PaymentModel, WebhookModel } from '../../model/model.ts';
import type { Evidence } from '../evidence.ts';
import type { Law, Verdict } from '../law.ts';
import { concernedWebhooks } from '../payments.ts';
import { firstSight } from '../sights.ts';
import type { FactView } from '../view.ts';

export const oneFinality: Law = {
  id: 'L4',
  says: 'A webhook gets each revision of a payment once: at the finality that it wanted for its amount when it was first seen.',
  check: (evidence, verdict) => {
    for (const payment of evidence.model.payments) {
      const facts = evidence.factsOf(payment);
      // A held event that is published again after retention removed it counts as never accepted, and so does its payment.
      const isKept = payment.heldEventId === null || !evidence.findings.view.removedEvents.has(payment.heldEventId);
      verdict.require(!isKept || facts.length <= 1, () => `${payment.name} is ${facts.length} payments in the store`);
      for (const webhook of concernedWebhooks(evidence, payment)) {
        requireOnce(evidence, verdict, payment, webhook);
        requireThere(evidence, verdict, payment, webhook);
      }
    }
  },
};

type Registered = WebhookModel & { readonly webhookId: string };

function requireOnce(evidence: Evidence, verdict: Verdict, payment: PaymentModel, webhook: Registered): void {
  const [fact] = evidence.factsOf(payment);
  const published = evidence
    .paymentDeliveries(payment, webhook.webhookId)
    .filter(({ isRetraction, revision }) => !isRetraction && revision !== null);
  for (const [revision, deliveries] of Map.groupBy(published, (one) => one.revision)) {
    const finalities = deliveries.map(({ finality }) => finality).join(' and ');
    const what = `${payment.name} revision ${revision} was published to ${webhook.name}`;
    verdict.require(deliveries.length <= 1, () => `${what} at ${finalities}`);
    const sight = fact === undefined ? null : firstSight(evidence, fact.factId, revision ?? 0);
    const chosen = sight === null ? undefined : webhook.finality.during(sight.startMs, sight.endMs);
    if (chosen === undefined || deliveries.length !== 1) continue;
    const expected = finalityFor(chosen, ruleAmountOf(payment, fact));
    verdict.require(finalities === expected, () => `${what} at ${finalities} instead of ${expected}`);
  }
}

function ruleAmountOf({ ruleAmount, transfer }: PaymentModel, fact: FactView | undefined): string | null {
  return transfer === undefined || (fact?.invoiceId ?? null) === null ? ruleAmount : transfer.invoicedRuleAmount;
}

/** Everything is final in the end, so that a payment which stands has reached every finality. */
function requireThere(evidence: Evidence, verdict: Verdict, payment: PaymentModel, webhook: Registered): void {
  if (!evidence.isCanonical(payment)) return;
  const deliveries = evidence.paymentDeliveries(payment, webhook.webhookId);
  const [fact] = evidence.factsOf(payment);
  const isThere =
    payment.heldEventId === null
      ? deliveries.some(({ isRetraction, revision }) => !isRetraction && revision === fact?.revision)
      : countOf(deliveries, false) > countOf(deliveries, true);
  const state = fact === undefined ? 'unknown' : `${fact.state} in revision ${fact.revision}`;
  verdict.require(isThere, () => `${payment.name} stands, is ${state}, and was not published to ${webhook.name}`);
}

function countOf(deliveries: readonly { readonly isRetraction: boolean }[], isRetraction: boolean): number {
  return deliveries.filter((one) => one.isRetraction === isRetraction).length;
}
