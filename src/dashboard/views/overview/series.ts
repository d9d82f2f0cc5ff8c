import type { Stats } from '../../../client/types.ts';
import { spanText } from '../../components/values/duration-text.ts';
import { countText, rateText, successRate } from './figures.ts';

export type Ink = 'accent' | 'good' | 'bad' | 'warning' | 'muted';

/** One line of a chart. Lines of one chart differ in dash as well as in colour. */
export type Series = {
  readonly label: string;
  readonly ink: Ink;
  readonly dash?: readonly number[];
  readonly fill?: boolean;
  /** Drawn only where there is any, since none of it is what one hopes for. */
  readonly quietAtZero?: boolean;
  /** One for each moment; null where there is nothing to say. */
  readonly values: readonly (number | null)[];
};

export type ChartData = {
  readonly title: string;
  readonly about: string;
  /** Unix seconds, ascending. */
  readonly moments: readonly number[];
  readonly series: readonly Series[];
  readonly text: (value: number | null | undefined) => string;
  /** What the axis reaches at least. */
  readonly top?: number;
  /** Long waits are thousands of times the short ones: on an even axis only one of them would be seen. */
  readonly logarithmic?: boolean;
};

const DOTTED = [2, 3];
const DASHED = [7, 4];

type Interval = Stats['intervals'][number];

export function chartsOf(stats: Stats): ChartData[] {
  const moments = stats.intervals.map(({ dateStart }) => dateStart);
  const pick = (value: (interval: Interval) => number | null) => stats.intervals.map(value);
  return [
    {
      title: `Accepted and delivered per ${stats.interval}`,
      about: `Where the lines part, deliveries wait or fail. The last ${stats.interval} is not over yet.`,
      moments,
      text: countText,
      top: 4,
      series: [
        { label: 'Accepted', ink: 'muted', dash: DASHED, values: pick(({ accepted }) => accepted) },
        { label: 'Delivered', ink: 'accent', fill: true, values: pick(({ delivered }) => delivered) },
        { label: 'Failed', ink: 'bad', dash: DOTTED, quietAtZero: true, values: pick(({ failed }) => failed) },
      ],
    },
    {
      title: 'Time to receipt',
      about: 'What 50, 95 and 99 of 100 deliveries took at most.',
      moments,
      text: (ms) => (ms === null || ms === undefined ? '–' : spanText(ms)),
      logarithmic: true,
      series: [
        { label: 'p50', ink: 'accent', values: pick(({ timeToReceiptMs }) => timeToReceiptMs.p50) },
        { label: 'p95', ink: 'warning', dash: DASHED, values: pick(({ timeToReceiptMs }) => timeToReceiptMs.p95) },
        { label: 'p99', ink: 'bad', dash: DOTTED, values: pick(({ timeToReceiptMs }) => timeToReceiptMs.p99) },
      ],
    },
    {
      title: 'Success rate',
      about: 'Of the deliveries that came to an end, those that were taken.',
      moments,
      text: rateText,
      top: 1,
      series: [{ label: 'Delivered', ink: 'good', fill: true, values: pick(successRate) }],
    },
  ];
}

/** The API says how the backlog is; how it was, only whoever has looked meanwhile knows. */
export type BacklogSample = { readonly atS: number; readonly waiting: number; readonly ageMs: number };

export function backlogChart(samples: readonly BacklogSample[]): ChartData {
  return {
    title: 'Age of the backlog',
    about: 'How long the first of those that wait has been due, since this page was opened.',
    moments: samples.map(({ atS }) => atS),
    text: (ms) => (ms === null || ms === undefined ? '–' : spanText(ms)),
    top: 1_000,
    series: [{ label: 'Oldest', ink: 'warning', fill: true, values: samples.map(({ ageMs }) => ageMs) }],
  };
}
