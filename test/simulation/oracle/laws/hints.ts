import type { Law } from '../law.ts';

const LONGEST_MS = 300_000;

export const hints: Law = {
  id: 'L9',
  says: 'A hint delays a delivery by at most 5 minutes, and never decides whether it is sent.',
  check: ({ findings: { view, wallMs } }, verdict) => {
    verdict.checked += view.deliveries.filter(({ place }) => place !== 'queue').length;
    for (const { eventId, place, isOpen, isParked, dueMs, leaseMs } of view.deliveries) {
      if (place !== 'queue' || isParked || !isOpen) continue;
      const lateMs = wallMs - Math.max(dueMs, leaseMs);
      verdict.require(
        lateMs < LONGEST_MS,
        () => `a delivery of ${eventId} has been due for ${Math.round(lateMs / 1_000)} s`,
      );
    }
  },
};
