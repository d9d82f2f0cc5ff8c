import type { Stats } from '../../../client/paybell.ts';
import { Icon } from '../../components/icon.tsx';
import { durationText } from '../../components/values/duration-text.ts';
import { UrlText } from '../../components/values/url.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link, urlFor } from '../../router.tsx';
import { countText, rateText, successRate } from './figures.ts';

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
            {stats.destinations.map((figures) => (
              <Row key={figures.destination} figures={figures} interval={interval} />
            ))}
          </tbody>
        </table>
      </div>
      {stats.totalDestinations > stats.destinations.length ? (
        <p class="small muted">
          Showing the {stats.destinations.length} busiest of {countText(stats.totalDestinations)} destinations.
        </p>
      ) : null}
    </section>
  );
}

function Row({ figures, interval }: { figures: Stats['destinations'][number]; interval: string | null }) {
  const { destination, accepted, delivered, failed, timeToReceiptMs } = figures;
  const { p50, p95, p99 } = timeToReceiptMs;
  const rate = successRate(figures);
  const latency = (ms: number | null) => (ms === null ? '–' : durationText(ms));
  return (
    <tr>
      <td>
        <Link to={urlFor(DASHBOARD_PATHS.overview, { interval, destination })}>
          <UrlText url={destination} />
        </Link>
      </td>
      <td>
        <span class="rate">
          <span class="rate-text">{rateText(rate)}</span>
          <meter min={0} max={1} low={0.95} high={0.999} optimum={1} value={rate ?? 0} aria-hidden="true" />
        </span>
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
