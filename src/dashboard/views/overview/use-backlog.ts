import { useEffect, useState } from 'preact/hooks';
import type { Stats } from '../../../client/types.ts';
import type { BacklogSample } from './series.ts';

/** An hour of looks at five seconds each. */
const MOST = 720;

/** Kept while another view is open. */
let samples: readonly BacklogSample[] = [];

/** Every look at the backlog since the page was opened. */
export function useBacklog(stats: Stats | null): readonly BacklogSample[] {
  const [shown, setShown] = useState(samples);
  useEffect(() => {
    if (stats === null) return;
    const { waiting, oldestDueAgeMs } = stats.backlog;
    const sample = { atS: Math.round(Date.now() / 1000), waiting, ageMs: oldestDueAgeMs };
    samples = [...samples.filter(({ atS }) => atS < sample.atS), sample].slice(-MOST);
    setShown(samples);
  }, [stats]);
  return shown;
}
