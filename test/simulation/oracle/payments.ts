import { isAnswered } from '../model/history.ts';
import { PAID, type PaymentModel, type WebhookModel } from '../model/model.ts';
import type { Evidence } from './evidence.ts';

/** The webhooks that a payment certainly concerns: they were registered before it could be seen, and are never deleted. */
export function concernedWebhooks(
  evidence: Evidence,
  payment: PaymentModel,
): (WebhookModel & { readonly webhookId: string })[] {
  const { model } = evidence;
  const { contract, minedAtMs, heldEventId } = payment;
  if (isForgotten(evidence, payment)) return [];
  if (contract !== null) return model.followed.has(contract) ? model.lastingSince(PAID, minedAtMs) : [];
  const event = model.events.find(({ eventId }) => eventId === heldEventId);
  return event !== undefined && isAnswered(event.acceptance) ? model.lastingSince(PAID, event.acceptance.startMs) : [];
}

/** Retention has removed what was known of it before it was final: the simulation keeps rows for seconds, a service for days. */
function isForgotten(evidence: Evidence, payment: PaymentModel): boolean {
  const { removedEvents } = evidence.findings.view;
  if (payment.heldEventId !== null && removedEvents.has(payment.heldEventId)) return true;
  return evidence.factsOf(payment).some(({ wasRemoved, state }) => wasRemoved && state !== 'final');
}
