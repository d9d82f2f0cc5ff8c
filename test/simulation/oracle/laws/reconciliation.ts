import type { Law } from '../law.ts';

export const reconciliation: Law = {
  id: 'L13',
  says: 'An event is acknowledged only if no task, no unpublished fact and no waiting delivery is left for it.',
  check: ({ model: { reconciliations } }, verdict) => {
    for (const early of reconciliations) {
      verdict.require(early.length === 0, () => `a reconciliation called ${early.join(', ')} acknowledged too early`);
    }
  },
};
