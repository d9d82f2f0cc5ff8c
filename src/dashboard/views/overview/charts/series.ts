import type { Stats } from '../../../../client/paybell.ts';
import { countText } from '../../../components/values/count-text.ts';
import { durationText } from '../../../components/values/duration-text.ts';
import { attemptRate, deliveryRate, rateText } from '../figures.ts';

export type SeriesColour = 'accent' | 'good' | 'bad' | 'warning' | 'muted';

/** One line of a chart. Lines differ in dash as well as in colour, so that colour is never the only cue. */
export type Series = {
  readonly label: string;
  readonly colour: SeriesColour;
  readonly dash?: readonly number[];
  readonly fill?: boolean;
  /** Draws nothing at zero, which keeps a chart without failures free of a flat line. */
  readonly hideZeros?: boolean;
  /** One value for each timestamp; null if there is none. */
  readonly values: readonly (number | null)[];
};

export type ChartData = {
  readonly title: string;
  readonly description: string;
  /** Unix seconds, ascending. */
  readonly timestamps: readonly number[];
  readonly series: readonly Series[];
  readonly text: (value: number | null | undefined) => string;
  /** The top of the axis is never below this. */
  readonly minTop?: number;
  /** The distances that the labels of the axis may have; by default, round decimal numbers. */
  readonly steps?: readonly number[];
  /** Latencies differ by factors of thousands. On a linear axis, all small latencies would be at zero. */
  readonly logarithmic?: boolean;
};

const DOTTED = [2, 3];
const DASHED = [7, 4];

type Interval = Stats['intervals'][number];

export function chartsOf(stats: Stats): ChartData[] {
  const timestamps = stats.intervals.map(({ dateStart }) => dateStart);
  const pick = (value: (interval: Interval) => number | null) => stats.intervals.map(value);
  return [
    {
      title: `Accepted and delivered per ${stats.interval}`,
      description: `A gap means that deliveries wait or fail. The last ${stats.interval} is still in progress.`,
      timestamps,
      text: countText,
      minTop: 4,
      series: [
        { label: 'Accepted', colour: 'muted', dash: DASHED, values: pick(({ accepted }) => accepted) },
        { label: 'Delivered', colour: 'accent', fill: true, values: pick(({ delivered }) => delivered) },
        { label: 'Failed', colour: 'bad', dash: DOTTED, hideZeros: true, values: pick(({ failed }) => failed) },
      ],
    },
    latencyChart(stats),
    {
      title: 'Success rate',
      description: 'Share of attempts and of completed deliveries that succeeded. In an outage, attempts fail first.',
      timestamps,
      text: rateText,
      minTop: 1,
      series: [
        { label: 'Attempts', colour: 'accent', values: pick(attemptRate) },
        { label: 'Deliveries', colour: 'good', dash: DASHED, values: pick(deliveryRate) },
      ],
    },
  ];
}

/** Deliveries, failures and latency of the host of an endpoint. */
export function endpointCharts(stats: Stats, destination: string): ChartData[] {
  const pick = (value: (interval: Interval) => number | null) => stats.intervals.map(value);
  return [
    {
      title: `Deliveries and failed attempts per ${stats.interval}`,
      description: `All endpoints of ${destination}, in the last 24 hours.`,
      timestamps: stats.intervals.map(({ dateStart }) => dateStart),
      text: countText,
      minTop: 4,
      series: [
        { label: 'Delivered', colour: 'accent', fill: true, values: pick(({ delivered }) => delivered) },
        {
          ...{ label: 'Failed attempts', colour: 'bad', dash: DOTTED, hideZeros: true },
          values: pick(({ failedAttempts }) => failedAttempts),
        },
      ],
    },
    latencyChart(stats),
  ];
}

function latencyChart({ intervals }: Stats): ChartData {
  const pick = (percentile: 'p50' | 'p95' | 'p99') =>
    intervals.map(({ timeToReceiptMs }) => timeToReceiptMs[percentile]);
  return {
    title: 'Delivery latency',
    description: 'Time from accepting an event to its delivery: 50th, 95th and 99th percentile.',
    timestamps: intervals.map(({ dateStart }) => dateStart),
    text: (ms) => (ms === null || ms === undefined ? '–' : durationText(ms)),
    logarithmic: true,
    series: [
      { label: 'p50', colour: 'accent', values: pick('p50') },
      { label: 'p95', colour: 'warning', dash: DASHED, values: pick('p95') },
      { label: 'p99', colour: 'bad', dash: DOTTED, values: pick('p99') },
    ],
  };
}

const [SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS] = [1_000, 60_000, 3_600_000, 86_400_000];
const SIXTIETHS = [1, 2, 5, 10, 15, 30];
const DURATION_STEPS_MS = [
  ...SIXTIETHS.map((seconds) => seconds * SECOND_MS),
  ...SIXTIETHS.map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR_MS),
  ...[1, 2, 5, 10, 20, 50, 100].map((days) => days * DAY_MS),
];

/** The API reports only the current backlog, so the dashboard collects samples while it is open. */
export type BacklogSample = { readonly atS: number; readonly waiting: number; readonly ageMs: number };

export function backlogChart(samples: readonly BacklogSample[]): ChartData {
  return {
    title: 'Backlog age',
    description: 'How late the oldest delivery was, recorded since you opened the dashboard.',
    timestamps: samples.map(({ atS }) => atS),
    text: (ms) => (ms === null || ms === undefined ? '–' : durationText(ms)),
    minTop: 4 * SECOND_MS,
    steps: DURATION_STEPS_MS,
    series: [{ label: 'Oldest', colour: 'warning', fill: true, values: samples.map(({ ageMs }) => ageMs) }],
  };
}
