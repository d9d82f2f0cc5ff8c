import type { EventModel, WebhookModel } from '../../model/model.ts';
import type { Evidence } from '../evidence.ts';
import type { Law, Verdict } from '../law.ts';

export const order: Law = {
  id: 'L8',
  says: 'Events of one agreement arrive at an ordered endpoint in the order of their acceptance.',
  check: (evidence, verdict) => {
    const { model, findings } = evidence;
    const ordered = model.accepted.filter(({ agreementId, retraction }) => agreementId !== null && retraction === null);
    for (const events of Map.groupBy(ordered, ({ agreementId }) => agreementId).values()) {
      for (const earlier of events) {
        if (findings.view.acceptedAnew.has(earlier.eventId)) continue;
        for (const later of events) {
          if (earlier.acceptance.endMs >= later.acceptance.startMs) continue;
          const [first, second] = [earlier, later].map(({ event, acceptance }) =>
            model.lastingSince(event, acceptance.startMs),
          );
          for (const one of first ?? []) {
            for (const other of second ?? []) checkArrivals(evidence, verdict, [one, earlier], [other, later]);
          }
        }
      }
    }
  },
};

type Sent = readonly [webhook: Registered, event: EventModel];

function checkArrivals(evidence: Evidence, verdict: Verdict, earlier: Sent, later: Sent): void {
  const times = arrivals(evidence, earlier, later);
  if (times === null) return;
  verdict.require(
    times.earlierMs <= times.laterMs,
    () => `${later[0].name} received ${later[1].eventId} before ${earlier[1].eventId} of the same agreement`,
  );
}

type Registered = WebhookModel & { readonly webhookId: string };

/** When the receiver accepted the earlier event, and first got the later one; null where no order is promised. */
function arrivals(evidence: Evidence, [webhook, earlier]: Sent, [other, later]: Sent) {
  const first = evidence.receiptsFor(later.eventId, other.webhookId)[0];
  const accepted = evidence.receiptsFor(earlier.eventId, webhook.webhookId).find(({ isAccepted }) => isAccepted);
  if (first === undefined || accepted === undefined) return null;
  const fromMs = earlier.acceptance.startMs;
  const toMs = Math.max(first.atMs, accepted.atMs);
  const isPromised =
    (webhook === other || areAtOneEndpoint(webhook, other, fromMs, toMs)) &&
    isOrderedThroughout(evidence, webhook, fromMs, toMs) &&
    !isRedelivered(evidence, earlier, webhook.webhookId, toMs) &&
    !isRedelivered(evidence, later, other.webhookId, toMs);
  return isPromised ? { earlierMs: accepted.atMs, laterMs: first.atMs } : null;
}

/** Whether both webhooks were certainly there all the time. */
function areAtOneEndpoint({ postUrl }: WebhookModel, other: WebhookModel, fromMs: number, toMs: number): boolean {
  const url = postUrl.during(fromMs, toMs);
  return url !== undefined && url === other.postUrl.during(fromMs, toMs);
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
