import uPlot from 'uplot';
import { axisWidth, timeRange } from './axis.ts';
import type { ChartData, Series } from './series.ts';

/** Loaded with the first chart, because no other view needs the plotting library. */

export type ChartColours = { readonly series: readonly string[]; readonly text: string; readonly grid: string };

export type Plot = {
  readonly show: (chart: ChartData) => void;
  readonly resize: (width: number) => void;
  readonly end: () => void;
};

const HEIGHT = 190;
const AXIS_FONT = '11px ui-sans-serif, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif';

/** Draws into the frame. `onPoint` receives the index of the timestamp under the pointer, or null. */
export function drawPlot(
  frame: HTMLElement,
  chart: ChartData,
  colours: ChartColours,
  onPoint: (index: number | null) => void,
): Plot {
  const options: uPlot.Options = {
    width: frame.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    padding: [10, 36, 0, 0],
    scales: {
      x: { time: true, range: (plot) => timeRange(plot.data[0], Date.now() / 1000) },
      y: scaleOf(chart),
    },
    axes: axesOf(chart, colours),
    series: [
      {},
      ...chart.series.map(({ label, dash, fill = false }, index): uPlot.Series => {
        const stroke = colours.series[index] ?? colours.text;
        return {
          label,
          stroke,
          width: 2,
          ...(dash === undefined ? {} : { dash: [...dash] }),
          ...(fill ? { fill: transparent(stroke) } : {}),
          points: { show: true, size: 5, fill: stroke, filter: isolatedPoints },
        };
      }),
    ],
    hooks: { setCursor: [(plot) => onPoint(plot.cursor.idx ?? null)] },
  };
  const plot = new uPlot(options, dataOf(chart), frame);
  return {
    show: (next) => plot.setData(dataOf(next)),
    resize: (width) => plot.setSize({ width, height: HEIGHT }),
    end: () => plot.destroy(),
  };
}

function dataOf({ timestamps, series }: ChartData): uPlot.AlignedData {
  const drawn = ({ values, hideZeros = false }: Series) =>
    values.map((value) => (hideZeros && value === 0 ? null : value));
  return [[...timestamps], ...series.map(drawn)];
}

/** A value between two gaps has no line, so it needs a visible point. */
function isolatedPoints(plot: uPlot, series: number): number[] {
  const values = plot.data[series] ?? [];
  return [...values.keys()].filter(
    (index) => values[index] != null && values[index - 1] == null && values[index + 1] == null,
  );
}

function scaleOf({ minTop, logarithmic = false }: ChartData): uPlot.Scale {
  if (logarithmic) return { distr: 3, range: (_plot, min, max) => tickRange(min, max) };
  return { range: (_plot, _min, max) => [0, Math.max(minTop ?? 0, minTop === 1 ? 1 : (max ?? 0) * 1.1)] };
}

/** Milliseconds with a round label, from 1 ms to 100 days. */
const TICKS = [1, 10, 100, 1e3, 1e4, 6e4, 6e5, 3.6e6, 3.6e7, 8.64e7, 8.64e8, 8.64e9];

/** Snaps to ticks, so that the axis does not move with every new value, and spans at least three of them. */
function tickRange(min: number | null, max: number | null): [number, number] {
  const low = Math.max(
    0,
    TICKS.findLastIndex((tick) => tick <= (min ?? 1)),
  );
  const high = TICKS.findIndex((tick) => tick >= (max ?? 1));
  return [TICKS[low] ?? 1, TICKS[Math.max(high, low + 2)] ?? 8.64e9];
}

function axesOf({ text, steps, logarithmic = false }: ChartData, { text: stroke, grid }: ChartColours): uPlot.Axis[] {
  const common = { stroke, font: AXIS_FONT, ticks: { show: false } };
  return [
    { ...common, grid: { show: false }, size: 28, space: 72, values: clockValues },
    {
      ...common,
      grid: { stroke: grid, width: 1 },
      size: (_plot, labels) => axisWidth(labels),
      space: 36,
      ...(steps === undefined ? {} : { incrs: [...steps] }),
      ...(logarithmic ? { splits: ticksBetween, filter: (_plot: uPlot, splits: number[]) => splits } : {}),
      values: (_plot, splits) => splits.map(text),
    },
  ];
}

function ticksBetween(_plot: uPlot, _axis: number, min: number, max: number): number[] {
  return TICKS.filter((tick) => tick >= min && tick <= max);
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const clockWithSeconds = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const DAY_S = 86_400;
const MINUTE_S = 60;

/** Formatted for the viewer's locale and time zone. */
function clockValues(_plot: uPlot, splits: number[], _axis: number, _space: number, stepS: number): string[] {
  const format = stepS >= DAY_S ? day : stepS < MINUTE_S ? clockWithSeconds : clock;
  return splits.map((seconds) => format.format(new Date(seconds * 1000)));
}

/** Computed styles are always `rgb(…)`, whatever the style sheet says. */
function transparent(colour: string): string {
  return colour.replace(/^rgb\((.+)\)$/, 'rgb($1 / 0.12)').replaceAll(',', ' ');
}
