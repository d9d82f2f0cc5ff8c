import { useEffect, useState } from 'preact/hooks';
import type { Stats } from '../../../client/paybell.ts';
import type { BacklogSample } from './charts/series.ts';

/** One hour at one sample every five seconds. */
const MAX_SAMPLES = 720;

/** Module state, so that the samples survive a change of view. */
let samples: readonly BacklogSample[] = [];

/** The backlog of every poll since the dashboard was opened. */
export function useBacklog(stats: Stats | null): readonly BacklogSample[] {
  const [shown, setShown] = useState(samples);
  useEffect(() => {
    if (stats === null) return;
    const { waiting, oldestDueAgeMs } = stats.backlog;
    const sample = { atS: Math.round(Date.now() / 1000), waiting, ageMs: oldestDueAgeMs };
    samples = [...samples.filter(({ atS }) => atS < sample.atS), sample].slice(-MAX_SAMPLES);
    setShown(samples);
  }, [stats]);
  return shown;
}
