const DAY_MS = 86_400_000;

/** A day as the API writes it, in UTC. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** The last day that is over, so that it gets no more events. */
export function yesterday(nowMs = Date.now()): string {
  return dayOf(nowMs - DAY_MS);
}

/** The day this many days later, or before it with a negative number. A text that is not a day counts as yesterday. */
export function dayAfter(day: string, days: number): string {
  const ms = Date.parse(`${day}T00:00:00Z`);
  return dayOf((Number.isNaN(ms) ? Date.parse(yesterday()) : ms) + days * DAY_MS);
}

/** The day as a range of Unix seconds, as the lists of events and deliveries take it. */
export function secondsOf(day: string): { since: number; until: number } {
  const since = Math.floor(Date.parse(`${day}T00:00:00Z`) / 1000);
  return { since, until: since + DAY_MS / 1000 };
}
