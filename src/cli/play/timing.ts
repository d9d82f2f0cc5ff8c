/** Posts leave in the order of the events only if each has a moment's start of the next. */
const LEAST_GAP_MS = 200;
/** No timer runs longer than 2^31 ms, and a story in real time pauses for a month. */
const LONGEST_TIMER_MS = 24 * 3_600_000;

/**
 * The second at which a story begins: so that its last event is sent at the moment that it is dated. At real time that
 * is now; faster than life, the story lies in the past, and no event is ever dated into the future.
 */
export function startSecond(nowMs: number, lengthS: number, speed: number): number {
  return Math.floor(nowMs / 1000 + lengthS / speed - lengthS);
}

/** When each event is sent: its time in the story, compressed, and never upon the heels of the one before it. */
export function sendTimesMs(events: readonly { dateCreated: number }[], startMs: number, speed: number): number[] {
  const first = events[0]?.dateCreated ?? 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  return events.map(({ dateCreated }) => {
    lastMs = Math.max(startMs + ((dateCreated - first) * 1000) / speed, lastMs + LEAST_GAP_MS);
    return lastMs;
  });
}

export async function sleepUntil(timeMs: number): Promise<void> {
  for (let leftMs = timeMs - Date.now(); leftMs > 0; leftMs = timeMs - Date.now()) {
    await Bun.sleep(Math.min(leftMs, LONGEST_TIMER_MS));
  }
}
