import type { EventModel, WebhookModel } from '../../model/model.ts';
import type { Evidence } from '../evidence.ts';
import type { Law } from '../law.ts';

export const order: Law = {
  id: 'L8',
  says: 'Events of one agreement arrive at an ordered endpoint in the order of their acceptance.',
  check: (evidence, verdict) => {
    const { model } = evidence;
    const ordered = model.accepted.filter(({ agreementId, retraction }) => agreementId !== null && retraction === null);
    for (const events of Map.groupBy(ordered, ({ agreementId }) => agreementId).values()) {
      for (const earlier of events) {
        for (const later of events) {
          if (earlier.acceptance.endMs >= later.acceptance.startMs) continue;
          for (const webhook of model.lastingSince(earlier.event, earlier.acceptance.startMs)) {
            const times = arrivals(evidence, webhook, earlier, later);
            if (times === null) continue;
            verdict.require(
              times.earlierMs <= times.laterMs,
              () => `${webhook.name} received ${later.eventId} before ${earlier.eventId} of the same agreement`,
            );
          }
        }
      }
    }
  },
};

type Registered = WebhookModel & { readonly webhookId: string };

/** When the receiver accepted the earlier event, and first got the later one; null where no order is promised. */
function arrivals(evidence: Evidence, webhook: Registered, earlier: EventModel, later: EventModel) {
  const { webhookId } = webhook;
  const first = evidence.receiptsFor(later.eventId, webhookId)[0];
  const accepted = evidence.receiptsFor(earlier.eventId, webhookId).find(({ isAccepted }) => isAccepted);
  if (first === undefined || accepted === undefined) return null;
  const toMs = Math.max(first.atMs, accepted.atMs);
  const isPromised =
    isOrderedThroughout(evidence, webhook, earlier.acceptance.startMs, toMs) &&
    ![earlier, later].some((event) => isRedelivered(evidence, event, webhookId, toMs));
  return isPromised ? { earlierMs: accepted.atMs, laterMs: first.atMs } : null;
}

/** Whether every endpoint that the webhook may have had kept events in order. */
function isOrderedThroughout({ model }: Evidence, { postUrl }: WebhookModel, fromMs: number, toMs: number): boolean {
  return postUrl.possible(fromMs, toMs).every((url) => model.orderingOf(url).during(fromMs, toMs) === true);
}

/** A redelivery is not part of the order. Many are redelivered at once: all that were there. */
function isRedelivered(
  evidence: Evidence,
  { eventId, acceptance }: EventModel,
  webhookId: string,
  beforeMs: number,
): boolean {
  const ids = new Set(evidence.deliveriesOf(eventId, webhookId).map(({ deliveryId }) => deliveryId));
  return evidence.model.redeliveries.some(
    ({ deliveryId, startMs, endMs }) =>
      startMs < beforeMs && (deliveryId === null ? acceptance.startMs <= endMs : ids.has(deliveryId)),
  );
}
