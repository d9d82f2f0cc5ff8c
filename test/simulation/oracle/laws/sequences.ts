import type { Law } from '../law.ts';

export const sequences: Law = {
  id: 'L12',
  says: 'The sequence numbers of an endpoint have no gap, and its feed explains each of them.',
  check: ({ findings: { feeds }, simulation }, verdict) => {
    const named = new Map<string, string | null>();
    for (const [endpointId, { firstSequence, lastSequence, deliveries }] of feeds) {
      const numbers = deliveries.map(({ sequence }) => sequence);
      const expected = Array.from(
        { length: Math.max(0, lastSequence - firstSequence + 1) },
        (_, at) => firstSequence + at,
      );
      verdict.require(
        numbers.join() === expected.join(),
        () => `the feed of an endpoint has ${numbers.join()} instead of ${firstSequence} to ${lastSequence}`,
      );
      for (const { sequence, deliveryId } of deliveries) named.set(`${endpointId} ${sequence}`, deliveryId);
    }
    for (const { endpointId, sequence, deliveryId, eventId } of simulation.receivers.receipts) {
      if (endpointId === undefined || sequence === undefined) continue;
      // Null for a delivery that retention has removed, and none for a number that was removed with its endpoint.
      const known = named.get(`${endpointId} ${sequence}`) ?? deliveryId;
      verdict.require(known === deliveryId, () => `${eventId} was sent with number ${sequence} of another delivery`);
    }
  },
};
