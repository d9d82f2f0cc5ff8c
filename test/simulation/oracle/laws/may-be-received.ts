import type { Law } from '../law.ts';

export const mayBeReceived: Law = {
  id: 'L7',
  says: 'The store knows of every delivery that its receiver may have it.',
  check: (evidence, verdict) => {
    for (const delivery of evidence.findings.view.deliveries) {
      const [receipt] = evidence.receiptsOf(delivery);
      if (receipt === undefined) continue;
      verdict.require(
        delivery.mayBeReceived || delivery.place === 'queue',
        () =>
          `${delivery.eventId} was received at ${receipt.postUrl}, and is ${delivery.status} as if it was never sent`,
      );
    }
  },
};
