/** A range with a single timestamp would have no width. */
const MIN_RANGE_S = 60;

/** From the first to the last timestamp, and at least a minute up to the last. */
export function timeRange(timestamps: ArrayLike<number>, nowS: number): [number, number] {
  const last = timestamps[timestamps.length - 1] ?? nowS;
  return [Math.min(timestamps[0] ?? last, last - MIN_RANGE_S), last];
}

/** A little more than the average width of a digit in the font of the axis. */
const CHARACTER_PX = 7;
const GAP_PX = 14;
const MIN_WIDTH_PX = 44;

/** The width of the longest label, so that no label is cut. The first layout has no labels. */
export function axisWidth(labels: readonly string[] | null): number {
  const longest = Math.max(0, ...(labels ?? []).map((label) => label?.length ?? 0));
  return Math.max(MIN_WIDTH_PX, longest * CHARACTER_PX + GAP_PX);
}
