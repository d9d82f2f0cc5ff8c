import { useMemo } from 'preact/hooks';
import type { Stats, StatsQuery } from '../../../client/types.ts';
import { paybell, willLast } from '../../api.ts';
import { LiveSwitch } from '../../components/lists/live-switch.tsx';
import { Empty, Failure, Loading, Notice } from '../../components/lists/states.tsx';
import { ViewHead } from '../../components/lists/view-head.tsx';
import { Curl } from '../../components/values/copy.tsx';
import { live, useTicks } from '../../live.ts';
import { useStore } from '../../observable.ts';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { addressOf, Link, usePlace } from '../../router.tsx';
import { useResponse } from '../../use-response.ts';
import { Chart } from './chart.tsx';
import { Destinations } from './destinations.tsx';
import { backlogChart, chartsOf } from './series.ts';
import { Tiles } from './tiles.tsx';
import { useBacklog } from './use-backlog.ts';

/** Longer than it takes until figures are written. */
const EVERY_MS = 5_000;

const RANGES = [
  { interval: 'minute', label: 'Last hour' },
  { interval: 'hour', label: 'Last day' },
  { interval: 'day', label: 'Last 30 days' },
] as const;

export function Overview() {
  const { query } = usePlace();
  const interval = query.get('interval') ?? 'minute';
  const destination = query.get('destination');
  const asked = { interval, ...(destination === null ? {} : { destination }) } as StatsQuery;
  const { data, problem, again } = useResponse(JSON.stringify(asked), (signal) => paybell().stats(asked, { signal }));
  const on = useStore(live);
  useTicks(on && !willLast(problem), EVERY_MS, async () => {
    await again();
    return true;
  });
  return (
    <>
      <ViewHead
        title="Overview"
        about={destination === null ? 'How events and deliveries fare.' : `How ${destination} fares.`}
      >
        <LiveSwitch />
        <nav class="segments" aria-label="Range of time">
          {RANGES.map((range) => (
            <Link
              key={range.interval}
              to={addressOf(DASHBOARD_PATHS.overview, { interval: range.interval, destination })}
              aria-current={range.interval === interval ? 'page' : undefined}
            >
              {range.label}
            </Link>
          ))}
        </nav>
      </ViewHead>
      {data === null && problem !== null ? <Failure problem={problem} again={again} /> : null}
      {data === null && problem === null ? <Loading what="figures" /> : null}
      {data !== null && problem !== null ? <Notice problem={problem} /> : null}
      {data === null ? null : <Figures stats={data} interval={query.get('interval')} destination={destination} />}
    </>
  );
}

type FiguresProps = { stats: Stats; interval: string | null; destination: string | null };

function Figures({ stats, interval, destination }: FiguresProps) {
  const samples = useBacklog(stats);
  const charts = useMemo(() => [...chartsOf(stats), backlogChart(samples)], [stats, samples]);
  const { accepted, delivered, events } = stats.total;
  const nothing = accepted === 0 && delivered === 0 && (events ?? 0) === 0 && stats.backlog.waiting === 0;
  return (
    <>
      {nothing && destination === null ? <Quiet /> : null}
      <Tiles stats={stats} />
      <div class="charts">
        {charts.map((chart) => (
          <Chart key={chart.title} chart={chart} />
        ))}
      </div>
      <Destinations stats={stats} interval={interval} chosen={destination} />
    </>
  );
}

/** A first event to paste: it needs no more than its kind and its network. */
const FIRST = { event: 'TransferFinalized', networkId: 8453, transferId: 'trf_1', amount: '25.00', currency: 'USDC' };

function Quiet() {
  return (
    <Empty icon="overview" title="Nothing happened in this time">
      <p>
        Choose a longer time above, or begin: register a <Link to={DASHBOARD_PATHS.webhooks}>webhook</Link> and send an
        event.
      </p>
      <Curl method="POST" path="/events" body={FIRST} />
    </Empty>
  );
}
