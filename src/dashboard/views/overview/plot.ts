import uPlot from 'uplot';
import type { ChartData, Series } from './series.ts';

/** Loaded with the first chart: the rest of the page needs no plotting. */

export type Inks = { readonly series: readonly string[]; readonly text: string; readonly line: string };

export type Plot = {
  readonly show: (chart: ChartData) => void;
  readonly resize: (width: number) => void;
  readonly end: () => void;
};

const HEIGHT = 190;
/** A single moment has no length that an axis could show. */
const SHORTEST_S = 60;
const AXIS_FONT = '11px ui-sans-serif, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif';

/** Draws into the frame; `onPoint` is told which moment the pointer is at, or null. */
export function drawPlot(
  frame: HTMLElement,
  chart: ChartData,
  inks: Inks,
  onPoint: (index: number | null) => void,
): Plot {
  const options: uPlot.Options = {
    width: frame.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    padding: [10, 22, 0, 0],
    scales: {
      x: { time: true, range: (_plot, min, max) => [Math.min(min, max - SHORTEST_S), max] },
      y: scaleOf(chart),
    },
    axes: axesOf(chart, inks),
    series: [
      {},
      ...chart.series.map(({ label, dash, fill = false }, index): uPlot.Series => {
        const stroke = inks.series[index] ?? inks.text;
        return {
          label,
          stroke,
          width: 2,
          ...(dash === undefined ? {} : { dash: [...dash] }),
          ...(fill ? { fill: transparent(stroke) } : {}),
          points: { show: true, size: 5, fill: stroke, filter: lonelyPoints },
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

function dataOf({ moments, series }: ChartData): uPlot.AlignedData {
  const drawn = ({ values, quietAtZero = false }: Series) =>
    values.map((value) => (quietAtZero && value === 0 ? null : value));
  return [[...moments], ...series.map(drawn)];
}

/** Alone between gaps, a value has no line to be seen by. */
function lonelyPoints(plot: uPlot, series: number): number[] {
  const values = plot.data[series] ?? [];
  return [...values.keys()].filter(
    (index) => values[index] != null && values[index - 1] == null && values[index + 1] == null,
  );
}

function scaleOf({ top, logarithmic = false }: ChartData): uPlot.Scale {
  if (logarithmic) return { distr: 3, range: (_plot, min, max) => betweenMarks(min, max) };
  return { range: (_plot, _min, max) => [0, Math.max(top ?? 0, top === 1 ? 1 : (max ?? 0) * 1.1)] };
}

/** Milliseconds that people have round words for, from one to a hundred days. */
const MARKS = [1, 10, 100, 1e3, 1e4, 6e4, 6e5, 3.6e6, 3.6e7, 8.64e7, 8.64e8, 8.64e9];

/** From mark to mark, so that the axis does not jump about with each new value, and over three of them at least. */
function betweenMarks(min: number | null, max: number | null): [number, number] {
  const low = Math.max(
    0,
    MARKS.findLastIndex((mark) => mark <= (min ?? 1)),
  );
  const high = MARKS.findIndex((mark) => mark >= (max ?? 1));
  return [MARKS[low] ?? 1, MARKS[Math.max(high, low + 2)] ?? 8.64e9];
}

function axesOf({ text, logarithmic = false }: ChartData, { text: stroke, line }: Inks): uPlot.Axis[] {
  const common = { stroke, font: AXIS_FONT, ticks: { show: false } };
  return [
    { ...common, grid: { show: false }, size: 28, values: clockValues },
    {
      ...common,
      grid: { stroke: line, width: 1 },
      size: 58,
      space: 36,
      ...(logarithmic ? { splits: marksBetween, filter: (_plot: uPlot, splits: number[]) => splits } : {}),
      values: (_plot, splits) => splits.map(text),
    },
  ];
}

function marksBetween(_plot: uPlot, _axis: number, min: number, max: number): number[] {
  return MARKS.filter((mark) => mark >= min && mark <= max);
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const clockWithSeconds = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const DAY_S = 86_400;
const MINUTE_S = 60;

/** In the words of the viewer's own locale and zone. */
function clockValues(_plot: uPlot, splits: number[], _axis: number, _space: number, stepS: number): string[] {
  const format = stepS >= DAY_S ? day : stepS < MINUTE_S ? clockWithSeconds : clock;
  return splits.map((seconds) => format.format(new Date(seconds * 1000)));
}

/** The colour comes as `rgb(…)`, because the browser has worked it out from the theme. */
function transparent(colour: string): string {
  return colour.replace(/^rgb\((.+)\)$/, 'rgb($1 / 0.12)').replaceAll(',', ' ');
}
