/** How an entity's figures are counted over time: intervals, slots, and the histogram of the delivery latency. */

export const STATS_INTERVALS = ['minute', 'hour', 'day'] as const;
export type StatsInterval = (typeof STATS_INTERVALS)[number];

export const INTERVAL_S: Readonly<Record<StatsInterval, number>> = { minute: 60, hour: 3_600, day: 86_400 };

export function intervalOf(intervalS: number): StatsInterval {
  return STATS_INTERVALS.find((interval) => INTERVAL_S[interval] === intervalS) ?? 'day';
}

/** Whole intervals, from `startS` to before `endS`. */
export type StatsRange = { intervalS: number; startS: number; endS: number };

/**
 * The figures of one destination are kept by the hour and by the day. Most destinations have less than one delivery a
 * minute, and a row for each minute would cost more than the delivery itself.
 */
export const SHORTEST_OF_DESTINATION_S = INTERVAL_S.hour;

/** The whole hours that a range of minutes touches; a range of longer intervals stays as it is. */
export function wholeHours({ intervalS, startS, endS }: StatsRange): StatsRange {
  const seconds = Math.max(intervalS, SHORTEST_OF_DESTINATION_S);
  return {
    intervalS: seconds,
    startS: Math.floor(startS / seconds) * seconds,
    endS: Math.ceil(endS / seconds) * seconds,
  };
}

export type Span = { seconds: number; startS: number; endS: number };

/** Covers the range with as few sums as possible: whole days, before and after them whole hours, then minutes. */
export function longestSums({ startS, endS, intervalS }: StatsRange): Span[] {
  const [seconds, ...shorter] = Object.values(INTERVAL_S)
    .filter((length) => length >= intervalS)
    .sort((a, b) => b - a);
  return seconds === undefined ? [] : split({ seconds, startS, endS }, shorter);
}

function split({ seconds, startS, endS }: Span, [next, ...shorter]: readonly number[]): Span[] {
  const firstS = Math.ceil(startS / seconds) * seconds;
  const lastS = Math.floor(endS / seconds) * seconds;
  const edge = (from: number, to: number) =>
    next === undefined || from >= to ? [] : split({ seconds: next, startS: from, endS: to }, shorter);
  if (firstS >= lastS) return edge(startS, endS);
  return [...edge(startS, firstS), { seconds, startS: firstS, endS: lastS }, ...edge(lastS, endS)];
}

/**
 * Every figure is a count under a small number, its slot. Slots from zero on are the buckets of the delivery latency;
 * the other figures are below zero. Counts of several processes can be added slot by slot.
 */
export const SLOTS = { deliveredAgain: -5, failedAttempts: -4, events: -3, failed: -2, accepted: -1 } as const;

/** Each bucket is a fifth wider than the one before, so that its middle is within a tenth of every value in it. */
const GROWTH = 1.2;
/** 37 days, which is longer than any retry schedule. */
const MAX_BUCKET = 120;

export function latencySlot(ms: number): number {
  return ms <= 1 ? 0 : Math.min(MAX_BUCKET, Math.ceil(Math.log(ms) / Math.log(GROWTH)));
}

function middleOf(bucket: number): number {
  return bucket === 0 ? 1 : Math.round(GROWTH ** (bucket - 0.5));
}

/** Counts by slot. */
export type Tally = Map<number, number>;

type Percentiles = { p50: number | null; p95: number | null; p99: number | null };
export type Figures = {
  accepted: number;
  delivered: number;
  failed: number;
  attempts: number;
  failedAttempts: number;
  timeToReceiptMs: Percentiles;
};

export function figuresOf(tally: Tally): Figures {
  const buckets = [...tally].filter(([slot]) => slot >= 0).sort(([a], [b]) => a - b);
  const delivered = buckets.reduce((sum, [, count]) => sum + count, 0);
  const failed = tally.get(SLOTS.failed) ?? 0;
  // If attempts were not counted yet, each failed delivery counts as at least one failed attempt.
  const failedAttempts = Math.max(failed, tally.get(SLOTS.failedAttempts) ?? 0);
  return {
    accepted: tally.get(SLOTS.accepted) ?? 0,
    delivered,
    failed,
    attempts: delivered + (tally.get(SLOTS.deliveredAgain) ?? 0) + failedAttempts,
    failedAttempts,
    timeToReceiptMs: {
      p50: percentile(buckets, delivered, 0.5),
      p95: percentile(buckets, delivered, 0.95),
      p99: percentile(buckets, delivered, 0.99),
    },
  };
}

function percentile(buckets: readonly (readonly [number, number])[], total: number, share: number): number | null {
  let left = Math.ceil(total * share);
  for (const [bucket, count] of buckets) {
    left -= count;
    if (left <= 0) return middleOf(bucket);
  }
  return null;
}

/** The destinations of an entity that one response shows. */
export const MAX_DESTINATIONS_SHOWN = 100;
