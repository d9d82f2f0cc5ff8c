import type { EventModel, WebhookModel } from '../model/model.ts';
import type { Evidence } from './evidence.ts';
import type { DeliveryView } from './view.ts';

/** What should have become of an acknowledged event at a webhook, as far as that is certain. */
export type Expected = {
  readonly event: EventModel;
  readonly webhook: WebhookModel;
  readonly made: readonly DeliveryView[];
  /** Whether the filter of the webhook matched when the event was accepted. */
  readonly isWanted: boolean;
  /** Whether the webhook changed after the event was sent. */
  readonly isChanged: boolean;
};

/** Events of senders alone: those of payments have laws of their own. */
export function expectedDeliveries(evidence: Evidence): Expected[] {
  const { model } = evidence;
  return model.accepted
    .filter(({ payment }) => payment === null)
    .flatMap((event) =>
      model.lastingSince(event.event, event.acceptance.startMs).flatMap((webhook) => {
        const { startMs, endMs } = event.acceptance;
        const least = webhook.filter.during(startMs, endMs);
        if (least === undefined) return [];
        const made = evidence.deliveriesOf(event.eventId, webhook.webhookId);
        const isWanted = least === null || event.amount >= least;
        const isChanged = [webhook.filter, webhook.postUrl].some((one) => one.mayChange(startMs, Number.MAX_VALUE));
        return { event, webhook, made, isWanted, isChanged };
      }),
    );
}
