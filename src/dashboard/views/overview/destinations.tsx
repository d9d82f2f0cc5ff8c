import type { Stats } from '../../../client/paybell.ts';
import { Icon } from '../../components/icon.tsx';
import { type Column, DataTable, type NarrowSize, numberColumn } from '../../components/lists/data-table.tsx';
import { Badge } from '../../components/values/badge.tsx';
import { countText } from '../../components/values/count-text.ts';
import { durationText } from '../../components/values/duration-text.ts';
import { Moment } from '../../components/values/time.tsx';
import { UrlText } from '../../components/values/url.tsx';
import { Section } from '../../components/view/section.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link, urlFor } from '../../router.tsx';
import { STATE_DISPLAY } from '../endpoints/state-badge.tsx';
import { attemptRate, deliveryRate } from './figures.ts';
import { RateBar } from './rate-bar.tsx';

type DestinationsProps = { stats: Stats; interval: string | null; chosen: string | null };

/** Statistics by destination. Each row links to the overview of that destination alone. */
export function Destinations({ stats, interval, chosen }: DestinationsProps) {
  if (stats.destinations.length === 0 && chosen === null) return null;
  return (
    <Section
      title={chosen === null ? 'By destination' : 'Destination'}
      class="destinations"
      actions={
        chosen === null ? null : (
          <Link to={urlFor(DASHBOARD_PATHS.overview, { interval })} class="button button-small">
            <Icon name="cross" size={12} />
            Show all destinations
          </Link>
        )
      }
    >
      <DataTable
        name="destinations-table"
        caption="Statistics by destination"
        columns={columnsOf(interval)}
        rows={worstFirst(stats.destinations)}
        keyOf={({ destination }) => destination}
      />
      {stats.destinationsDateStart < stats.dateStart ? (
        <p class="small muted">
          Destinations are counted by the hour: these figures begin at <Moment seconds={stats.destinationsDateStart} />.
        </p>
      ) : null}
      {stats.totalDestinations > stats.destinations.length ? (
        <p class="small muted">
          Showing the {stats.destinations.length} of {countText(stats.totalDestinations)} destinations with the most
          failed attempts.
        </p>
      ) : null}
      {stats.destinations.some(({ failed }) => failed > 0) ? (
        <p class="small muted">
          Delivered and failed count results of this period: a delivery that failed first and arrived after a resend is
          in both.
        </p>
      ) : null}
    </Section>
  );
}

type Figures = Stats['destinations'][number];

/** The rate of attempts if there were any, because attempts show an outage at once. */
function rateOf(figures: Figures): number | null {
  return attemptRate(figures) ?? deliveryRate(figures);
}

/**
 * The server sends the worst states first. Among active destinations without overdue deliveries, sorts by the success
 * rate.
 */
function worstFirst(destinations: readonly Figures[]): Figures[] {
  const rateIfWell = (figures: Figures) => (isWell(figures) ? (rateOf(figures) ?? 2) : -1);
  return destinations.toSorted((a, b) => rateIfWell(a) - rateIfWell(b));
}

function isWell({ state, dateOldestDue }: Figures): boolean {
  return state === 'active' && dateOldestDue === null;
}

function columnsOf(interval: string | null): readonly Column<Figures>[] {
  return [
    {
      name: 'destination',
      header: 'Destination',
      width: 'rest',
      cell: ({ destination }) => (
        <Link to={urlFor(DASHBOARD_PATHS.overview, { interval, destination })}>
          <UrlText url={destination} />
        </Link>
      ),
    },
    {
      name: 'state',
      header: 'State',
      width: '9rem',
      narrow: { below: 'wide', line: 'cell' },
      cell: (figures) => <DestinationState figures={figures} />,
    },
    countColumn('waiting', 'Waiting', ({ waiting }) => countText(waiting)),
    numberColumn('rate', 'Success rate', (figures) => <RateBar rate={rateOf(figures)} isWell={isWell(figures)} />, {
      ...{ width: '9rem', narrowWidth: '6.5rem' },
    }),
    countColumn('accepted', 'Accepted', ({ accepted }) => countText(accepted), { below: 'medium' }),
    countColumn('delivered', 'Delivered', ({ delivered }) => countText(delivered), { below: 'small' }),
    countColumn(
      'failed',
      'Failed',
      ({ failed }) => <span class={failed === 0 ? 'muted' : 'error-text'}>{countText(failed)}</span>,
      { below: 'small' },
    ),
    numberColumn('latency', 'p50 · p95 · p99', ({ timeToReceiptMs }) => latencyText(timeToReceiptMs), {
      ...{ width: '13rem', below: 'widest', line: ({ timeToReceiptMs }) => latencyLine(timeToReceiptMs) },
    }),
  ];
}

function countColumn(name: string, header: string, cell: Column<Figures>['cell'], narrow?: { below: NarrowSize }) {
  return numberColumn(name, header, cell, { width: '5.5rem', narrowWidth: '5rem', ...narrow });
}

/**
 * Shows overdue deliveries as a state, because a receiver that does not respond has them before its first attempt
 * fails.
 */
function DestinationState({ figures: { state, dateOldestDue } }: { figures: Figures }) {
  if (state === 'active' && dateOldestDue !== null) {
    return <Badge tone="bad" icon="clock" label={`Overdue ${durationText(Date.now() - dateOldestDue * 1000)}`} />;
  }
  return <Badge {...STATE_DISPLAY[state]} />;
}

type Latency = Figures['timeToReceiptMs'];

const PERCENTILES = ['p50', 'p95', 'p99'] as const;

function latencyText(latency: Latency): string {
  return latency.p50 === null ? '–' : PERCENTILES.map((each) => durationText(latency[each] ?? 0)).join(' · ');
}

function latencyLine(latency: Latency) {
  if (latency.p50 === null) return null;
  return (
    <span class="muted">{PERCENTILES.map((each) => `${each} ${durationText(latency[each] ?? 0)}`).join(' · ')}</span>
  );
}
