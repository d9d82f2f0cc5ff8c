import type { Law } from '../law.ts';

export const workEnds: Law = {
  id: 'L10',
  says: 'Everything that was acknowledged is a row that some job finds: in the end nothing is left to do.',
  check: ({ findings: { view, workLeft } }, verdict) => {
    const { tasks, facts, redeliveries } = workLeft;
    verdict.require(tasks === 0, () => `${tasks} tasks never end`);
    verdict.require(facts === 0, () => `${facts} events of payments are never published`);
    verdict.require(redeliveries === 0, () => `${redeliveries} bulk redeliveries never end`);
    for (const { eventId, place, isParked } of view.deliveries) {
      verdict.require(place !== 'queue' || !isParked, () => `a delivery of ${eventId} waits for its turn for ever`);
    }
  },
};
