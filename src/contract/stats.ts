import { z } from 'zod';
import { exactText, oneOfOr, wholeNumber } from './list-query.ts';
import type { InputError } from './problems.ts';

/** An entity's own view of how its events fare over time. */

export const STATS_INTERVALS = ['minute', 'hour', 'day'] as const;
export type StatsInterval = (typeof STATS_INTERVALS)[number];

export const INTERVAL_S: Readonly<Record<StatsInterval, number>> = { minute: 60, hour: 3_600, day: 86_400 };

/** An hour of minutes, a day of hours, a month of days: what people look at first. */
const DEFAULT_INTERVALS: Readonly<Record<StatsInterval, number>> = { minute: 60, hour: 24, day: 30 };
export const MAX_INTERVALS = 1_440;
export const MAX_DESTINATIONS_SHOWN = 100;

export const statsQuerySchema = z.strictObject({
  interval: oneOfOr('hour', STATS_INTERVALS, { description: 'What one row sums up, in UTC.' }),
  since: wholeNumber(0, Number.MAX_SAFE_INTEGER, {
    description: 'From the interval of this Unix second on; 60 minutes, 24 hours or 30 days before the end if absent.',
  }),
  until: wholeNumber(0, Number.MAX_SAFE_INTEGER, { description: 'Before this Unix second; now if absent.' }),
  destination: exactText({
    description: 'Only what goes to this scheme, host and port, as `destinations` writes it.',
    example: 'https://example.com:443',
  }),
});

export type StatsQuery = z.output<typeof statsQuerySchema>;

const receiptSchema = z
  .strictObject({ p50: z.int().nullable(), p95: z.int().nullable(), p99: z.int().nullable() })
  .meta({
    description:
      'Milliseconds from acceptance to receipt that 50, 95 and 99 of 100 deliveries took at most, to within a tenth; ' +
      'null when none was delivered.',
  });

const figures = {
  accepted: z.int().min(0).meta({ description: 'Deliveries that came of accepted events.' }),
  delivered: z.int().min(0).meta({ description: 'Deliveries that their receiver took.' }),
  failed: z.int().min(0).meta({ description: 'Deliveries that were given up.' }),
  timeToReceiptMs: receiptSchema,
};

const events = z.int().min(0).nullable().meta({
  description: 'Events accepted, also those that no webhook asked for; null when one destination is asked for.',
});

const exampleFigures = { accepted: 128, delivered: 126, failed: 1, timeToReceiptMs: { p50: 21, p95: 43, p99: 5_230 } };
const exampleTotal = { events: 64, ...exampleFigures };

export const statsSchema = z
  .strictObject({
    interval: z.enum(STATS_INTERVALS),
    dateStart: z.int().meta({ description: 'Where the first interval begins.' }),
    dateEnd: z.int().meta({ description: 'Where the last interval ends.' }),
    total: z.strictObject({ events, ...figures }),
    intervals: z
      .array(z.strictObject({ dateStart: z.int(), events, ...figures }))
      .meta({ description: 'Every interval of the range, oldest first, also those in which nothing happened.' }),
    totalDestinations: z.int().min(0),
    destinations: z
      .array(z.strictObject({ destination: z.string(), ...figures }))
      .meta({ description: `The ${MAX_DESTINATIONS_SHOWN} with the most traffic, over the whole range.` }),
    backlog: z.strictObject({
      waiting: z.int().min(0).meta({ description: 'Deliveries of the entity that wait at the moment, held ones too.' }),
      oldestDueAgeMs: z.int().min(0).meta({ description: 'How long the first of them has been due; 0 when none is.' }),
    }),
  })
  .meta({
    id: 'Stats',
    description: 'Gathered in memory and written every two seconds: the newest figures are that much behind.',
    example: {
      interval: 'hour',
      dateStart: 1763164800,
      dateEnd: 1763168400,
      total: exampleTotal,
      intervals: [{ dateStart: 1763164800, ...exampleTotal }],
      totalDestinations: 1,
      destinations: [{ destination: 'https://example.com:443', ...exampleFigures }],
      backlog: { waiting: 1, oldestDueAgeMs: 0 },
    },
  });

export type Stats = z.output<typeof statsSchema>;
export type Figures = Pick<Stats['total'], keyof typeof figures>;

/** Whole intervals, from `startS` to before `endS`. */
export type StatsRange = { intervalS: number; startS: number; endS: number };

export function statsRange({ interval, since, until }: StatsQuery, nowS: number): StatsRange | InputError {
  const intervalS = INTERVAL_S[interval];
  const endsAtS = until ?? nowS + 1;
  const endS = Math.ceil(endsAtS / intervalS) * intervalS;
  const sinceS = since ?? Math.max(0, endS - DEFAULT_INTERVALS[interval] * intervalS);
  if (sinceS >= endsAtS) return { in: 'query', name: 'since', message: 'must be before until' };
  const startS = Math.floor(sinceS / intervalS) * intervalS;
  if ((endS - startS) / intervalS <= MAX_INTERVALS) return { intervalS, startS, endS };
  const message = `must be at most ${MAX_INTERVALS} intervals before until; ask for less or for a longer interval`;
  return { in: 'query', name: 'since', message };
}

export type Span = { seconds: number; startS: number; endS: number };

/** The range in as few sums as there can be: whole days, before and after them whole hours, and minutes at the edges. */
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
 * What is counted, as a small number: everything but the time to receipt below zero, and from zero on the bucket of
 * the time. Buckets grow by a fifth each, so that the middle of one is within a tenth of all that is in it, and counts
 * of several processes add up.
 */
export const SLOTS = { events: -3, failed: -2, accepted: -1 } as const;

const GROWTH = 1.2;
/** 37 days: longer than any schedule takes. */
const MAX_BUCKET = 120;

export function receiptSlot(ms: number): number {
  return ms <= 1 ? 0 : Math.min(MAX_BUCKET, Math.ceil(Math.log(ms) / Math.log(GROWTH)));
}

function middleOf(bucket: number): number {
  return bucket === 0 ? 1 : Math.round(GROWTH ** (bucket - 0.5));
}

/** Counts by slot. */
export type Tally = Map<number, number>;

export function figuresOf(tally: Tally): Figures {
  const buckets = [...tally].filter(([slot]) => slot >= 0).sort(([a], [b]) => a - b);
  const delivered = buckets.reduce((sum, [, count]) => sum + count, 0);
  return {
    accepted: tally.get(SLOTS.accepted) ?? 0,
    delivered,
    failed: tally.get(SLOTS.failed) ?? 0,
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
