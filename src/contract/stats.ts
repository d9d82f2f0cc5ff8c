import { z } from 'zod';
import { ENDPOINT_STATES } from '../domain/endpoints/settings.ts';
import {
  INTERVAL_S,
  MAX_DESTINATIONS_SHOWN,
  STATS_INTERVALS,
  type StatsInterval,
  type StatsRange,
  wholeHours,
} from '../domain/stats.ts';
import { exactText, oneOfOr, unixSeconds } from './list-query.ts';
import type { InputError } from './problems.ts';

/** By default an hour of minutes, a day of hours or a month of days. */
const DEFAULT_INTERVALS: Readonly<Record<StatsInterval, number>> = { minute: 60, hour: 24, day: 30 };
const MAX_INTERVALS = 1_440;

const DESTINATION_ORDERS = ['traffic', 'failures'] as const;
export type DestinationOrder = (typeof DESTINATION_ORDERS)[number];

export const statsQuerySchema = z.strictObject({
  interval: oneOfOr('hour', STATS_INTERVALS, {
    description:
      'The length of one row, in UTC. The figures of a destination are kept by the hour: with `destination`, `minute` returns ' +
      'the whole hours that the range touches, and `interval` in the response is `hour`.',
  }),
  since: unixSeconds({
    description:
      'Start of the range, in Unix seconds. Defaults to 60 minutes, 24 hours or 30 days before the end, by `interval`.',
  }),
  until: unixSeconds({
    description: 'End of the range (exclusive), in Unix seconds. Defaults to now.',
  }),
  destination: exactText({
    description: 'Only deliveries to this destination, in the form that `destinations` has.',
    example: 'https://example.com:443',
  }),
  sortBy: oneOfOr('traffic', DESTINATION_ORDERS, {
    description:
      'Order of `destinations`: `traffic` has the most deliveries first. `failures` has the worst first, by state, overdue ' +
      'deliveries and failed attempts.',
  }),
});

export type StatsQuery = z.output<typeof statsQuerySchema>;

const destinationState = {
  state: z.enum(ENDPOINT_STATES).meta({
    description:
      'State of the destination now: the first of `suspended`, `failing`, `paused` and `active` that one of its endpoints has.',
  }),
  waiting: z.int().min(0).meta({ description: 'Deliveries that wait for it now, including held ones.' }),
  dateOldestDue: z.int().nullable().meta({
    description:
      'When the first delivery that is overdue by more than a minute was due, in Unix seconds; null if none is.',
  }),
};

const latencySchema = z
  .strictObject({ p50: z.int().nullable(), p95: z.int().nullable(), p99: z.int().nullable() })
  .meta({
    description:
      'Percentiles of the delivery latency in milliseconds, from the acceptance of the event to the successful ' +
      'delivery, accurate to 10 %. Null when nothing was delivered.',
  });

const figures = {
  accepted: z.int().min(0).meta({ description: 'Deliveries created for accepted events.' }),
  delivered: z.int().min(0).meta({ description: 'Deliveries that succeeded.' }),
  failed: z.int().min(0).meta({ description: 'Deliveries that failed permanently.' }),
  attempts: z
    .int()
    .min(0)
    .meta({
      description:
        'Requests that were sent, with retries and redeliveries. Of a time before attempts were counted, the last one of ' +
        'each delivery that was completed.',
    }),
  failedAttempts: z.int().min(0).meta({
    description:
      'Attempts without a 2xx response. They count from the first one on, while `failed` counts after the last.',
  }),
  timeToReceiptMs: latencySchema,
};

const events = z.int().min(0).nullable().meta({
  description: 'Accepted events, including those that no webhook matched. Null when filtered by destination.',
});

const exampleFigures = {
  accepted: 128,
  delivered: 126,
  failed: 1,
  attempts: 141,
  failedAttempts: 15,
  timeToReceiptMs: { p50: 21, p95: 43, p99: 5_230 },
};
const exampleTotal = { events: 64, ...exampleFigures };

export const statsSchema = z
  .strictObject({
    interval: z.enum(STATS_INTERVALS),
    dateStart: z.int().meta({ description: 'Start of the first interval, in Unix seconds.' }),
    dateEnd: z.int().meta({ description: 'End of the last interval, in Unix seconds.' }),
    total: z.strictObject({ events, ...figures }),
    intervals: z
      .array(z.strictObject({ dateStart: z.int(), events, ...figures }))
      .meta({ description: 'Every interval of the range, oldest first, including empty ones.' }),
    totalDestinations: z.int().min(0),
    destinationsDateStart: z.int().meta({
      description:
        'From when on `destinations` counts, in Unix seconds. The figures of a destination are kept by the hour, so with ' +
        '`interval=minute` these are the whole hours that the range touches.',
    }),
    destinationsDateEnd: z
      .int()
      .meta({ description: 'Until when `destinations` counts (exclusive), in Unix seconds.' }),
    destinations: z.array(z.strictObject({ destination: z.string(), ...destinationState, ...figures })).meta({
      description:
        `The first ${MAX_DESTINATIONS_SHOWN} destinations in the order of \`sortBy\`. A destination has traffic in the range, ` +
        'waiting deliveries, or a state other than `active`.',
    }),
    backlog: z.strictObject({
      waiting: z.int().min(0).meta({ description: 'Deliveries that are waiting now, without held ones.' }),
      oldestDueAgeMs: z
        .int()
        .min(0)
        .meta({ description: 'How long the oldest of them has been overdue, in milliseconds; 0 when none is.' }),
      limit: z.int().min(1).meta({ description: '`ENTITY_BACKLOG_LIMIT`: above it, new events are refused.' }),
    }),
    storage: z.strictObject({
      usedBytes: z.int().min(0).meta({
        description:
          'Bytes of the events, deliveries and attempts of the entity: their texts, and a fixed size for each.',
      }),
      limitBytes: z.int().nullable().meta({ description: '`ENTITY_STORAGE_LIMIT`. Null when it is off.' }),
    }),
  })
  .meta({
    id: 'Stats',
    description:
      'The figures of an entity over time. They are written every two seconds, so the latest can be missing.',
    example: {
      interval: 'hour',
      dateStart: 1763164800,
      dateEnd: 1763168400,
      total: exampleTotal,
      intervals: [{ dateStart: 1763164800, ...exampleTotal }],
      totalDestinations: 1,
      destinationsDateStart: 1763164800,
      destinationsDateEnd: 1763168400,
      destinations: [
        {
          destination: 'https://example.com:443',
          state: 'failing',
          waiting: 1,
          dateOldestDue: null,
          ...exampleFigures,
        },
      ],
      backlog: { waiting: 1, oldestDueAgeMs: 0, limit: 1_000_000 },
      storage: { usedBytes: 108_800, limitBytes: 53_687_091_200 },
    },
  });

export type Stats = z.output<typeof statsSchema>;

type Range = Pick<StatsQuery, 'interval' | 'since' | 'until' | 'destination'>;

/** In whole intervals, which are hours at least where it is of one destination. */
export function statsRange({ interval, since, until, destination }: Range, nowS: number): StatsRange | InputError {
  const intervalS = INTERVAL_S[interval];
  const endsAtS = until ?? nowS + 1;
  const endS = Math.ceil(endsAtS / intervalS) * intervalS;
  const sinceS = since ?? Math.max(0, endS - DEFAULT_INTERVALS[interval] * intervalS);
  if (sinceS >= endsAtS) return { in: 'query', name: 'since', message: 'must be before until' };
  const startS = Math.floor(sinceS / intervalS) * intervalS;
  if ((endS - startS) / intervalS <= MAX_INTERVALS) {
    const range = { intervalS, startS, endS };
    return destination === undefined ? range : wholeHours(range);
  }
  const message = `must be at most ${MAX_INTERVALS} intervals before until; use a shorter range or a longer interval`;
  return { in: 'query', name: 'since', message };
}
