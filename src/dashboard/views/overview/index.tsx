import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Stats, StatsQuery } from '../../../client/paybell.ts';
import { isPermanent, paybell } from '../../api.ts';
import { FirstEvent } from '../../components/first-event.tsx';
import { LiveSwitch } from '../../components/view/live-switch.tsx';
import { Empty, Failure, Loading, ProblemAlert } from '../../components/view/states.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { live, usePolling } from '../../live.ts';
import { useObservable } from '../../observable.ts';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link, urlFor, useRoute } from '../../router.tsx';
import { useResponse } from '../../use-response.ts';
import { Chart } from './chart.tsx';
import { Destinations } from './destinations.tsx';
import { Networks } from './networks.tsx';
import { backlogChart, chartsOf } from './series.ts';
import { Tiles } from './tiles.tsx';
import { useBacklog } from './use-backlog.ts';
import { useNetworks } from './use-networks.ts';

/** Longer than the two seconds after which the server writes new statistics. */
const POLL_MS = 5_000;

const RANGES = [
  { interval: 'minute', label: 'Last hour' },
  { interval: 'hour', label: 'Last 24 hours' },
  { interval: 'day', label: 'Last 30 days' },
] as const;

export function Overview() {
  const { query } = useRoute();
  const interval = query.get('interval') ?? 'minute';
  const destination = query.get('destination');
  const statsQuery = { interval, ...(destination === null ? {} : { destination }) } as StatsQuery;
  const { data, problem, reload } = useResponse(JSON.stringify(statsQuery), (signal) =>
    paybell().stats(statsQuery, { signal }),
  );
  const networks = useNetworks();
  const on = useObservable(live);
  usePolling(on && !isPermanent(problem), POLL_MS, async () => {
    await Promise.all([reload(), networks.reload()]);
    return true;
  });
  // What keeps both from loading is said once.
  const networksProblem = networks.problem?.code === problem?.code ? null : networks.problem;
  return (
    <>
      <ViewHead
        title="Overview"
        description={`Delivery volume, success rate and latency for ${destination ?? 'all destinations'}.`}
      >
        <LiveSwitch />
        <nav class="segments" aria-label="Time range">
          {RANGES.map((range) => (
            <Link
              key={range.interval}
              to={urlFor(DASHBOARD_PATHS.overview, { interval: range.interval, destination })}
              aria-current={range.interval === interval ? 'page' : undefined}
            >
              {range.label}
            </Link>
          ))}
        </nav>
      </ViewHead>
      {data === null && problem !== null ? <Failure problem={problem} reload={reload} /> : null}
      {data === null && problem === null ? <Loading what="statistics" /> : null}
      {data !== null && problem !== null ? <ProblemAlert problem={problem} /> : null}
      {data === null ? null : (
        <Statistics stats={data} interval={query.get('interval')} destination={destination}>
          <Networks list={networks.data} problem={networksProblem} />
        </Statistics>
      )}
    </>
  );
}

type StatisticsProps = {
  stats: Stats;
  interval: string | null;
  destination: string | null;
  children: ComponentChildren;
};

function Statistics({ stats, interval, destination, children }: StatisticsProps) {
  const samples = useBacklog(stats);
  const charts = useMemo(() => [...chartsOf(stats), backlogChart(samples)], [stats, samples]);
  const { accepted, delivered, events } = stats.total;
  const inactive = accepted === 0 && delivered === 0 && (events ?? 0) === 0 && stats.backlog.waiting === 0;
  const isQuiet = inactive && destination === null;
  return (
    <>
      {/* A network that is halted may be why nothing has happened. */}
      {isQuiet ? children : null}
      {isQuiet ? <NoActivity /> : null}
      <Tiles stats={stats} />
      {isQuiet ? null : children}
      <div class="charts">
        {charts.map((chart) => (
          <Chart key={chart.title} chart={chart} />
        ))}
      </div>
      <Destinations stats={stats} interval={interval} chosen={destination} />
    </>
  );
}

function NoActivity() {
  return (
    <Empty icon="overview" title="No activity in this period">
      <p>
        Choose a longer time range, or get started: register a <Link to={DASHBOARD_PATHS.webhooks}>webhook</Link> and
        send an event.
      </p>
      <FirstEvent />
    </Empty>
  );
}
