const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** A duration in the unit that fits it best, such as `3.5 min`. */
export function durationText(ms: number): string {
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`;
  if (ms < MINUTE_MS) return `${rounded(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS) return `${rounded(ms / MINUTE_MS)} min`;
  return ms < DAY_MS ? `${rounded(ms / HOUR_MS)} h` : `${rounded(ms / DAY_MS)} days`;
}

/** One decimal below ten, none above. */
function rounded(value: number): string {
  return value < 10 ? String(Math.round(value * 10) / 10) : String(Math.round(value));
}
