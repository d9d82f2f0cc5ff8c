import { isAnswered } from '../model/history.ts';
import { PAID, type PaymentModel, type WebhookModel } from '../model/model.ts';
import type { Evidence } from './evidence.ts';

/** The webhooks that a payment certainly concerns: they were registered before it could be seen, and are never deleted. */
export function concernedWebhooks(
  { model }: Evidence,
  { heldEventId, minedAtMs }: PaymentModel,
): (WebhookModel & { readonly webhookId: string })[] {
  if (heldEventId === null) return model.lastingSince(PAID, minedAtMs);
  const event = model.events.find(({ eventId }) => eventId === heldEventId);
  return event !== undefined && isAnswered(event.acceptance) ? model.lastingSince(PAID, event.acceptance.startMs) : [];
}
