import type { Law } from '../law.ts';

export const hints: Law = {
  id: 'L9',
  says: 'A hint delays a delivery by at most 5 minutes, and never decides whether it is sent.',
  check: ({ findings: { view, overdue } }, verdict) => {
    verdict.checked += view.deliveries.length;
    for (const eventId of overdue)
      verdict.require(false, () => `a delivery of ${eventId} is due, and no claim finds it`);
  },
};
