import { FIRST_CONTRACT } from '../model/contracts.ts';
import { isAnswered } from '../model/history.ts';
import { PAID, type PaymentModel, type WebhookModel } from '../model/model.ts';
import type { Evidence } from './evidence.ts';

type Registered = WebhookModel & { readonly webhookId: string };

/** The webhooks that a payment certainly concerns: they were registered before it could be seen, and are never deleted. */
export function concernedWebhooks(evidence: Evidence, payment: PaymentModel): Registered[] {
  const { model } = evidence;
  const { contract } = payment;
  const isFollowed =
    payment.transfer === undefined
      ? contract === null || (model.followed.has(contract) && !model.unfollowed.has(contract))
      : isWatched(evidence, payment);
  return isFollowed ? lastingWebhooks(evidence, payment) : [];
}

/**
 * Whether Paybell has read the payment, and an invoice still watches its address. The law of invoices says which payments Paybell has
 * to read. It publishes nothing about dust.
 */
function isWatched(evidence: Evidence, payment: PaymentModel): boolean {
  const { model, findings } = evidence;
  const names = new Set(
    model.invoices.flatMap(({ name, prepared }) => (prepared.address === payment.transfer?.address ? name : [])),
  );
  const block = evidence.blockOf(payment);
  const watches = findings.view.invoices.some(
    ({ reference, fromBlock, untilBlock }) =>
      names.has(reference) && untilBlock === null && fromBlock <= (block ?? fromBlock),
  );
  return watches && evidence.factsOf(payment).some(({ isSilent }) => !isSilent);
}

/** The same ones, even if the entity has no source for the payment any longer: Paybell still retracts what it published. */
export function lastingWebhooks(evidence: Evidence, payment: PaymentModel): Registered[] {
  const { model } = evidence;
  const { contract, minedAtMs, heldEventId } = payment;
  if (isForgotten(evidence, payment)) return [];
  if (contract !== null) return model.lastingSince(PAID, minedAtMs);
  const event = model.events.find(({ eventId }) => eventId === heldEventId);
  return event !== undefined && isAnswered(event.acceptance) ? model.lastingSince(PAID, event.acceptance.startMs) : [];
}

/** Retention has removed what was known of it before it was final: the simulation keeps rows for seconds, a service for days. */
function isForgotten(evidence: Evidence, payment: PaymentModel): boolean {
  const { removedEvents } = evidence.findings.view;
  if (payment.heldEventId !== null && removedEvents.has(payment.heldEventId)) return true;
  return evidence.factsOf(payment).some(({ wasForgotten }) => wasForgotten);
}

/** Payments that no block ever had: a node invented them. */
export function inventedPayments({ model, findings }: Evidence): PaymentModel[] {
  const known = new Set(model.payments.map(({ transaction }) => transaction.hash));
  const unknown = new Set(findings.view.facts.map(({ transactionHash }) => transactionHash)).difference(known);
  return [...unknown].map((hash) => ({
    name: `invented ${hash.slice(-6)}`,
    transaction: { hash },
    ...{ contract: FIRST_CONTRACT, minedAtMs: Number.POSITIVE_INFINITY, heldEventId: null, ruleAmount: null },
  }));
}
