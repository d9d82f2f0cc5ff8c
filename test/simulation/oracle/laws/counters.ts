import type { Law } from '../law.ts';

export const counters: Law = {
  id: 'L11',
  says: 'Every counter equals the number of its rows.',
  check: ({ findings: { wrongCounters } }, verdict) => {
    verdict.checked++;
    for (const wrong of wrongCounters) verdict.require(false, () => wrong);
  },
};
