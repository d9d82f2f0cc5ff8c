import type { Stats } from '../../../client/paybell.ts';
import { Icon } from '../../components/icon.tsx';
import { durationText } from '../../components/values/duration-text.ts';
import { Moment } from '../../components/values/time.tsx';
import { UrlText } from '../../components/values/url.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link, urlFor } from '../../router.tsx';
import { attemptRate, countText, deliveryRate } from './figures.ts';
import { RateBar } from './rate-bar.tsx';

type DestinationsProps = { stats: Stats; interval: string | null; chosen: string | null };

/** Statistics by destination. Each row links to the overview of that destination alone. */
export function Destinations({ stats, interval, chosen }: DestinationsProps) {
  if (stats.destinations.length === 0 && chosen === null) return null;
  return (
    <section class="destinations">
      <div class="destinations-head">
        <h2>{chosen === null ? 'By destination' : 'Destination'}</h2>
        {chosen === null ? null : (
          <Link to={urlFor(DASHBOARD_PATHS.overview, { interval })} class="button button-small">
            <Icon name="cross" size={12} />
            Show all destinations
          </Link>
        )}
      </div>
      <div class="table-frame">
        <table class="table">
          <caption class="visually-hidden">Statistics by destination</caption>
          <thead>
            <tr>
              <th scope="col">Destination</th>
              <th scope="col">Success rate</th>
              <th scope="col" class="not-phone">
                Accepted
              </th>
              <th scope="col">Delivered</th>
              <th scope="col" class="not-phone">
                Failed
              </th>
              <th scope="col" class="not-phone">
                p50
              </th>
              <th scope="col">p95</th>
              <th scope="col" class="not-phone">
                p99
              </th>
            </tr>
          </thead>
          <tbody>
            {worstFirst(stats.destinations).map((figures) => (
              <Row key={figures.destination} figures={figures} interval={interval} />
            ))}
          </tbody>
        </table>
      </div>
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
          Delivered and failed count what happened in this period: a delivery that failed and arrived when it was resent
          is in both.
        </p>
      ) : null}
    </section>
  );
}

type Figures = Stats['destinations'][number];

/** By attempts where there were any, because an outage shows in them at once. */
function rateOf(figures: Figures): number | null {
  return attemptRate(figures) ?? deliveryRate(figures);
}

/** Those without a rate last. The server has those with the most failed attempts first, which stays the order among equals. */
function worstFirst(destinations: readonly Figures[]): Figures[] {
  return destinations.toSorted((a, b) => (rateOf(a) ?? 2) - (rateOf(b) ?? 2));
}

function Row({ figures, interval }: { figures: Figures; interval: string | null }) {
  const { destination, accepted, delivered, failed, timeToReceiptMs } = figures;
  const { p50, p95, p99 } = timeToReceiptMs;
  const latency = (ms: number | null) => (ms === null ? '–' : durationText(ms));
  return (
    <tr>
      <td>
        <Link to={urlFor(DASHBOARD_PATHS.overview, { interval, destination })}>
          <UrlText url={destination} />
        </Link>
      </td>
      <td>
        <RateBar rate={rateOf(figures)} />
      </td>
      <td class="not-phone">{countText(accepted)}</td>
      <td>{countText(delivered)}</td>
      <td class={failed === 0 ? 'not-phone muted' : 'not-phone error-text'}>{countText(failed)}</td>
      <td class="not-phone">{latency(p50)}</td>
      <td>{latency(p95)}</td>
      <td class="not-phone">{latency(p99)}</td>
    </tr>
  );
}
