import { expectedDeliveries } from '../expected.ts';
import type { Law } from '../law.ts';

export const changesDuringFanOut: Law = {
  id: 'L3',
  says: 'A change of a webhook after an event was sent neither adds nor removes a delivery of it.',
  check: (evidence, verdict) => {
    for (const { event, webhook, made, isWanted, isChanged } of expectedDeliveries(evidence)) {
      if (evidence.findings.view.acceptedAnew.has(event.eventId)) continue;
      if (!isWanted) {
        const to = `${event.eventId} has a delivery to ${webhook.name}`;
        verdict.require(made.length === 0, () => `${to}, whose filter did not match when it was accepted`);
      } else if (isChanged && event.retraction === null && !evidence.model.mayBeSuperseded(event)) {
        verdict.require(
          made.length > 0,
          () => `${event.eventId} has no delivery to ${webhook.name}, which was changed`,
        );
      }
    }
  },
};
