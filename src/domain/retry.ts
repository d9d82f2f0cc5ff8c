const DAY_MS = 24 * 60 * 60 * 1000;

/** A receiver may ask for a longer wait, but not for more than a day. */
export const RETRY_AFTER_MAX_MS = DAY_MS;

/** Enough to spread retries that would coincide. Full jitter could turn a wait of a day into no wait. */
const JITTER_SHARE = 0.2;

const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const RFC_850_DATE = /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

export interface NextDelayInput {
  /** Milliseconds to wait before each attempt, including the first. */
  schedule: readonly number[];
  attemptsMade: number;
  retryAfterMs: number | null;
  /** Uniform in [0, 1), like Math.random. */
  random: () => number;
}

/** How long to wait before the next attempt, or null at the end of the schedule. */
export function nextDelayMs({ schedule, attemptsMade, retryAfterMs, random }: NextDelayInput): number | null {
  const stepMs = schedule[attemptsMade];
  if (stepMs === undefined) return null;
  const jitteredMs = Math.round(stepMs * (1 - JITTER_SHARE + 2 * JITTER_SHARE * random()));
  // `Retry-After` can only make the wait longer.
  return Math.max(jitteredMs, Math.min(retryAfterMs ?? 0, RETRY_AFTER_MAX_MS));
}

/** The wait that a `Retry-After` header asks for, from none to a day; null if the header is missing or malformed. */
export function parseRetryAfter(header: string | null, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, RETRY_AFTER_MAX_MS);
  const dateMs = parseHttpDate(text);
  return dateMs === null ? null : Math.min(Math.max(dateMs - nowMs, 0), RETRY_AFTER_MAX_MS);
}

/** Only the three formats of RFC 9110, because `Date.parse` also accepts `2`, `May` and much else. */
function parseHttpDate(text: string): number | null {
  const inUtc = ASCTIME_DATE.test(text) ? `${text} GMT` : text;
  if (inUtc === text && !IMF_FIXDATE.test(text) && !RFC_850_DATE.test(text)) return null;
  const dateMs = Date.parse(inUtc);
  return Number.isNaN(dateMs) ? null : dateMs;
}
