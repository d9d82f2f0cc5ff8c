import { expectedDeliveries } from '../expected.ts';
import type { Law } from '../law.ts';

export const everyWebhook: Law = {
  id: 'L2',
  says: 'Every webhook that certainly wants an event gets it.',
  check: (evidence, verdict) => {
    for (const { event, webhook, made, isWanted, isChanged } of expectedDeliveries(evidence)) {
      if (!isWanted || event.retraction !== null || evidence.model.mayBeSuperseded(event)) continue;
      const [delivery] = made;
      verdict.require(
        delivery?.status !== 'superseded',
        () => `${event.eventId} to ${webhook.name} is superseded, and no event can have made it pointless`,
      );
      if (isChanged) continue;
      verdict.require(made.length > 0, () => `${event.eventId} has no delivery to ${webhook.name}`);
      verdict.require(
        delivery?.error !== 'unprocessable',
        () => `${event.eventId} to ${webhook.name} failed, because the event was removed before it was sent`,
      );
    }
  },
};
