import { useEffect, useRef, useState } from 'preact/hooks';
import { Time } from '../../components/values/time.tsx';
import type { Inks, Plot } from './plot.ts';
import type { ChartData, Ink, Series } from './series.ts';

const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** A chart with its legend, which tells the values under the pointer, and the same as a table for whoever cannot see it. */
export function Chart({ chart }: { chart: ChartData }) {
  const figure = useRef<HTMLElement>(null);
  const [point, setPoint] = useState<number | null>(null);
  usePlot(figure, chart, setPoint);
  const at = point === null ? undefined : chart.moments[point];
  return (
    <figure class="card chart" ref={figure}>
      <figcaption>
        <h2>{chart.title}</h2>
        <p class="small muted">{chart.about}</p>
      </figcaption>
      <p class="chart-legend number">
        {chart.series.map(({ label, ink, dash, values }) => (
          <span key={label}>
            <Swatch ink={ink} dash={dash} />
            {label} {point === null ? null : <strong>{chart.text(values[point])}</strong>}
          </span>
        ))}
        {at === undefined ? null : <span class="muted">{moment.format(new Date(at * 1000))}</span>}
      </p>
      <div class="plot" aria-hidden="true" />
      <details>
        <summary>As a table</summary>
        <ChartTable chart={chart} />
      </details>
    </figure>
  );
}

function Swatch({ ink, dash }: { ink: Ink; dash: Series['dash'] | undefined }) {
  return (
    <svg class={`swatch ink-${ink}`} width="20" height="8" viewBox="0 0 20 8" aria-hidden="true" focusable="false">
      <path d="M0 4h20" stroke-dasharray={dash?.join(' ')} />
    </svg>
  );
}

/** Newest first, since that is what is asked about; moments at which nothing happened are left out. */
function ChartTable({ chart }: { chart: ChartData }) {
  const rows = chart.moments
    .map((seconds, index) => ({ seconds, values: chart.series.map(({ values }) => values[index] ?? null) }))
    .filter(({ values }) => values.some((value) => value !== null && value !== 0))
    .reverse();
  if (rows.length === 0) return <p class="small muted">Nothing happened in this time.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="chart-table" tabIndex={0} aria-label={chart.title}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">From</th>
            {chart.series.map(({ label }) => (
              <th key={label} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ seconds, values }) => (
            <tr key={seconds}>
              <th scope="row">
                <Time seconds={seconds} />
              </th>
              {chart.series.map(({ label }, index) => (
                <td key={label}>{chart.text(values[index])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

type Ref = { readonly current: HTMLElement | null };

/** Drawn once for each theme; new figures are put into what is drawn. */
function usePlot(figure: Ref, chart: ChartData, onPoint: (index: number | null) => void): void {
  const plot = useRef<Plot | null>(null);
  const latest = useRef(chart);
  latest.current = chart;
  const theme = useTheme();
  useEffect(() => {
    const frame = figure.current?.querySelector<HTMLElement>('.plot');
    if (figure.current === null || frame === null || frame === undefined) return;
    const whole = figure.current;
    let ended = false;
    const observer = new ResizeObserver(() => plot.current?.resize(frame.clientWidth));
    void import('./plot.ts').then(({ drawPlot }) => {
      if (ended) return;
      plot.current = drawPlot(frame, latest.current, inksOf(whole), onPoint);
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

/** A canvas knows no custom properties: the colours are read from what is drawn beside it. */
function inksOf(figure: HTMLElement): Inks {
  const colour = (selector: string, property: 'color' | 'borderTopColor' = 'color') => {
    const element = figure.querySelector(selector);
    return element === null ? '' : getComputedStyle(element)[property];
  };
  return {
    series: [...figure.querySelectorAll('.swatch')].map((swatch) => getComputedStyle(swatch).color),
    text: colour('figcaption p'),
    line: colour('.plot', 'borderTopColor'),
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
