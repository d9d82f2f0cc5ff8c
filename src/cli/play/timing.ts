/** Requests leave in the order of the events only if each has a small head start over the next. */
const MIN_GAP_MS = 200;
/** A timer lasts at most 2^31 ms, and a scenario in real time pauses for a month. */
const MAX_TIMER_MS = 24 * 3_600_000;

/**
 * The second at which a scenario starts, so that its last event is sent at its own date. In real time, the start is
 * now. At a higher speed, it lies in the past, so that no event has a future date.
 */
export function startSecond(nowMs: number, lengthS: number, speed: number): number {
  return Math.floor(nowMs / 1000 + lengthS / speed - lengthS);
}

/** When each event is sent: its time in the scenario divided by the speed, with a minimal gap. */
export function sendTimesMs(events: readonly { dateCreated: number }[], startMs: number, speed: number): number[] {
  const first = events[0]?.dateCreated ?? 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  return events.map(({ dateCreated }) => {
    lastMs = Math.max(startMs + ((dateCreated - first) * 1000) / speed, lastMs + MIN_GAP_MS);
    return lastMs;
  });
}

export async function sleepUntil(timeMs: number): Promise<void> {
  for (let leftMs = timeMs - Date.now(); leftMs > 0; leftMs = timeMs - Date.now()) {
    await Bun.sleep(Math.min(leftMs, MAX_TIMER_MS));
  }
}
