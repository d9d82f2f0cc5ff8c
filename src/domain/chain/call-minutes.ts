/** The calls to a node in one minute, counted from the Unix epoch. */
export type CallMinute = { readonly minute: number; readonly calls: number };

const MINUTE_MS = 60_000;
const HOUR_MINUTES = 60;

export function minuteAt(dateMs: number): number {
  return Math.floor(dateMs / MINUTE_MS);
}

/** The minutes of the last hour. Leaves out minutes in the future, which were counted before the clock was set back. */
export function lastHour(minutes: readonly CallMinute[], dateMs: number): CallMinute[] {
  const now = minuteAt(dateMs);
  return minutes.filter(({ minute }) => minute <= now && minute > now - HOUR_MINUTES);
}

export function callsInLastHour(minutes: readonly CallMinute[], dateMs: number): number {
  return lastHour(minutes, dateMs).reduce((sum, { calls }) => sum + calls, 0);
}
