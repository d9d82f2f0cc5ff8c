import type { Law } from '../law.ts';

export const reconciliation: Law = {
  id: 'L13',
  says: 'A reconciliation calls an event acknowledged only if no task, no unpublished fact and no waiting delivery is left for it.',
  check: ({ findings: { earlyAcknowledged, reconciliations } }, verdict) => {
    verdict.checked += reconciliations;
    for (const early of earlyAcknowledged) verdict.require(false, () => early);
  },
};
