/**
 * The last minutes, hour or day, counted from the moment at which someone chose the range or opened the view. The URL
 * has its name.
 */
export const TIME_RANGES = [
  { name: '15m', text: '15 min', seconds: 900 },
  { name: '1h', text: '1 h', seconds: 3_600 },
  { name: '1d', text: '1 d', seconds: 86_400 },
] as const;

/** The start of a range that is chosen now, in Unix seconds; null for an unknown name. */
export function rangeStart(name: string | null, nowMs: number): string | null {
  const range = TIME_RANGES.find((known) => known.name === name);
  return range === undefined ? null : String(Math.floor(nowMs / 1000) - range.seconds);
}
