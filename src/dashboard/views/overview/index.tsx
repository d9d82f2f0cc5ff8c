import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import type { DeliveryCounts } from '../../../client/deliveries.ts';
import type { Stats, StatsQuery } from '../../../client/paybell.ts';
import { type ApiProblem, isPermanent, paybell } from '../../api.ts';
import { FirstEvent } from '../../components/first-event.tsx';
import { LiveSwitch } from '../../components/view/live-switch.tsx';
import { Loaded } from '../../components/view/loaded.tsx';
import { Empty } from '../../components/view/states.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { live, usePolling } from '../../live.ts';
import { useObservable } from '../../observable.ts';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link, urlFor, useRoute } from '../../router.tsx';
import { useResponse } from '../../use-response.ts';
import { Attention } from './attention/index.tsx';
import {
  useMissedEvents,
  usePausedEndpoints,
  usePausedSources,
  useUnhealthyEndpoints,
} from './attention/use-attention.ts';
import { Chart } from './charts/chart.tsx';
import { backlogChart, chartsOf } from './charts/series.ts';
import { Destinations } from './destinations.tsx';
import { Find } from './find.tsx';
import { Networks } from './networks.tsx';
import { Tiles } from './tiles.tsx';
import { useBacklog } from './use-backlog.ts';
import { type PeriodCounts, useCounts, usePeriodCounts } from './use-counts.ts';
import { useNetworks } from './use-networks.ts';

/** Longer than the two seconds after which the server writes new statistics. */
const POLL_MS = 5_000;

/** Used for data that changes slowly or takes longer to count. */
const SLOW_POLL_MS = 30_000;

const RANGES = [
  { interval: 'minute', label: 'Last hour', period: 'the last hour' },
  { interval: 'hour', label: 'Last 24 hours', period: 'the last 24 hours' },
  { interval: 'day', label: 'Last 30 days', period: 'the last 30 days' },
] as const;

/** The figures of one destination are kept by the hour. */
const RANGES_OF_DESTINATION = RANGES.filter(({ interval }) => interval !== 'minute');

export function Overview() {
  const { query } = useRoute();
  const destination = query.get('destination');
  const ranges = destination === null ? RANGES : RANGES_OF_DESTINATION;
  const interval = ranges.find((range) => range.interval === query.get('interval'))?.interval ?? ranges[0]?.interval;
  const statsQuery = { interval, sortBy: 'failures', ...(destination === null ? {} : { destination }) } as StatsQuery;
  const response = useResponse(JSON.stringify(statsQuery), (signal) => paybell().stats(statsQuery, { signal }));
  const { data, problem, reload } = response;
  const networks = useNetworks();
  const endpoints = useUnhealthyEndpoints();
  const sources = usePausedSources((networks.data?.chains.length ?? 0) > 0);
  const counts = useCounts(destination);
  const ofPeriod = usePeriodCounts(destination, data?.dateStart ?? null);
  const isReady = data !== null && destination === null;
  const missed = useMissedEvents(isReady);
  const paused = usePausedEndpoints(isReady);
  const on = useObservable(live);
  usePolling(on && !isPermanent(problem), POLL_MS, async () => {
    const others = [endpoints, sources].filter((response) => !isPermanent(response.problem));
    const always = [networks, counts, ofPeriod];
    await Promise.all([reload(), ...[...always, ...others].map((response) => response.reload())]);
    return true;
  });
  usePolling(on, SLOW_POLL_MS, async () => {
    const later = [missed, paused].filter((response) => !isPermanent(response.problem));
    await Promise.all(later.map((response) => response.reload()));
    return true;
  });
  // Shows a problem only once if all requests have it.
  const unlessSaid = (other: ApiProblem | null) => (other?.code === problem?.code ? null : other);
  return (
    <>
      <ViewHead
        title="Overview"
        description={`Delivery volume, success rate and latency for ${destination ?? 'all destinations'}.`}
      >
        <LiveSwitch />
        <nav class="segments" aria-label="Time range">
          {ranges.map((range) => (
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
      {destination === null ? <Find /> : null}
      {destination === null ? (
        <Attention
          stats={data}
          networks={networks.data}
          endpoints={endpoints.data}
          paused={paused.data}
          missed={missed.data}
          failed={counts.data?.failed ?? null}
          period={RANGES.find((range) => range.interval === interval)?.period ?? 'this period'}
          problems={[
            { what: 'Endpoints that fail', problem: unlessSaid(endpoints.problem) },
            { what: 'Events that reached no webhook', problem: unlessSaid(missed.problem) },
          ]}
          sources={sources.data}
        />
      ) : null}
      <Loaded response={response} what="statistics">
        {(stats) => (
          <Statistics
            {...{ stats, destination }}
            counts={counts.data}
            ofPeriod={ofPeriod.data}
            interval={query.get('interval')}
          >
            <Networks list={networks.data} problem={unlessSaid(networks.problem)} />
          </Statistics>
        )}
      </Loaded>
    </>
  );
}

type StatisticsProps = {
  stats: Stats;
  counts: DeliveryCounts | null;
  ofPeriod: PeriodCounts | null;
  interval: string | null;
  destination: string | null;
  children: ComponentChildren;
};

function Statistics({ stats, counts, ofPeriod, interval, destination, children }: StatisticsProps) {
  const samples = useBacklog(stats);
  const charts = useMemo(
    () => [...chartsOf(stats), ...(destination === null ? [backlogChart(samples)] : [])],
    [stats, samples, destination],
  );
  const { accepted, delivered, events } = stats.total;
  const inactive = accepted === 0 && delivered === 0 && (events ?? 0) === 0 && stats.backlog.waiting === 0;
  const isQuiet = inactive && destination === null;
  return (
    <>
      {/* A halted network may be the reason for no activity. */}
      {isQuiet ? children : null}
      {isQuiet ? <NoActivity /> : null}
      <Tiles {...{ stats, counts, ofPeriod, destination }} />
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
