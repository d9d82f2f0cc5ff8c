import { useEffect, useRef, useState } from 'preact/hooks';
import { type Column, DataTable } from '../../../components/lists/data-table.tsx';
import { Time } from '../../../components/values/time.tsx';
import type { ChartColours, Plot } from './plot.ts';
import type { ChartData, Series, SeriesColour } from './series.ts';

const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });

/** A chart whose legend shows the values under the pointer. The table has the same values for those who cannot see the chart. */
export function Chart({ chart }: { chart: ChartData }) {
  const figure = useRef<HTMLElement>(null);
  const [point, setPoint] = useState<number | null>(null);
  usePlot(figure, chart, setPoint);
  const pointedS = point === null ? undefined : chart.timestamps[point];
  return (
    <figure class="card chart" ref={figure}>
      <figcaption>
        <h2>{chart.title}</h2>
        <p class="small muted">{chart.description}</p>
      </figcaption>
      <p class="chart-legend number">
        {chart.series.map(({ label, colour, dash, values }) => (
          <span key={label}>
            <Swatch colour={colour} dash={dash} />
            {label} {point === null ? null : <strong>{chart.text(values[point])}</strong>}
          </span>
        ))}
        {pointedS === undefined ? null : <span class="muted">{dateTime.format(new Date(pointedS * 1000))}</span>}
      </p>
      <div class="plot" aria-hidden="true" />
      <details>
        <summary>View as table</summary>
        <ChartTable chart={chart} />
      </details>
    </figure>
  );
}

function Swatch({ colour, dash }: { colour: SeriesColour; dash: Series['dash'] | undefined }) {
  return (
    <svg
      class={`swatch series-${colour}`}
      width="20"
      height="8"
      viewBox="0 0 20 8"
      aria-hidden="true"
      focusable="false"
    >
      <path d="M0 4h20" stroke-dasharray={dash?.join(' ')} />
    </svg>
  );
}

type TableRow = { readonly seconds: number; readonly values: readonly (number | null)[] };

/** Newest first, without the rows that have no activity. */
function ChartTable({ chart: { title, timestamps, series, text } }: { chart: ChartData }) {
  const rows = timestamps
    .map((seconds, index): TableRow => ({ seconds, values: series.map(({ values }) => values[index] ?? null) }))
    .filter(({ values }) => values.some((value) => value !== null && value !== 0))
    .reverse();
  if (rows.length === 0) return <p class="small muted">No activity in this period.</p>;
  const columns: Column<TableRow>[] = [
    { name: 'time', header: 'Time', width: 'rest', cell: ({ seconds }) => <Time seconds={seconds} /> },
    ...series.map(({ label }, index): Column<TableRow> => {
      return {
        name: label,
        header: label,
        width: '6rem',
        narrowWidth: '5.25rem',
        cell: ({ values }) => text(values[index]),
      };
    }),
  ];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="chart-table" tabIndex={0} aria-label={title}>
      <DataTable name="small" caption={title} columns={columns} rows={rows} keyOf={({ seconds }) => seconds} />
    </section>
  );
}

type Ref = { readonly current: HTMLElement | null };

/** Creates the plot once for each theme; new data updates the existing plot. */
function usePlot(figure: Ref, chart: ChartData, onPoint: (index: number | null) => void): void {
  const plot = useRef<Plot | null>(null);
  const latest = useRef(chart);
  latest.current = chart;
  const theme = useTheme();
  useEffect(() => {
    const frame = figure.current?.querySelector<HTMLElement>('.plot');
    if (figure.current === null || frame === null || frame === undefined) return;
    const element = figure.current;
    let ended = false;
    const observer = new ResizeObserver(() => plot.current?.resize(frame.clientWidth));
    void import('./plot.ts').then(({ drawPlot }) => {
      if (ended) return;
      plot.current = drawPlot(frame, latest.current, coloursOf(element), onPoint);
      observer.observe(frame);
    });
    return () => {
      ended = true;
      observer.disconnect();
      plot.current?.end();
      plot.current = null;
    };
  }, [theme, chart.title, figure]);
  useEffect(() => plot.current?.show(chart), [chart]);
}

/** A canvas cannot use CSS custom properties, so the colours are read from the elements around it. */
function coloursOf(figure: HTMLElement): ChartColours {
  const colour = (selector: string, property: 'color' | 'borderTopColor' = 'color') => {
    const element = figure.querySelector(selector);
    return element === null ? '' : getComputedStyle(element)[property];
  };
  return {
    series: [...figure.querySelectorAll('.swatch')].map((swatch) => getComputedStyle(swatch).color),
    text: colour('figcaption p'),
    grid: colour('.plot', 'borderTopColor'),
  };
}

function useTheme(): string {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const [theme, setTheme] = useState(dark.matches ? 'dark' : 'light');
  useEffect(() => {
    const change = () => setTheme(dark.matches ? 'dark' : 'light');
    dark.addEventListener('change', change);
    return () => dark.removeEventListener('change', change);
  }, [dark]);
  return theme;
}
