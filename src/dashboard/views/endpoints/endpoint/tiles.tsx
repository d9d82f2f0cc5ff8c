import { useMemo } from 'preact/hooks';
import type { DeliveryCounts } from '../../../../client/deliveries.ts';
import type { Endpoint } from '../../../../client/endpoints.ts';
import type { DeliveryStatus } from '../../../../domain/attempt.ts';
import { paybell } from '../../../api.ts';
import { countText } from '../../../components/values/count-text.ts';
import { PartProblem } from '../../../components/view/loaded.tsx';
import { Tile } from '../../../components/view/tile.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { Link, urlFor } from '../../../router.tsx';
import { type ResponseState, useResponse } from '../../../use-response.ts';
import { Chart } from '../../overview/charts/chart.tsx';
import { endpointCharts } from '../../overview/charts/series.ts';
import { destinationOf } from '../latency.ts';

type ChartsProps = { endpoint: Endpoint; round: number };

/** The charts of the endpoint's host: the server keeps the figures of a day by host. */
export function EndpointCharts({ endpoint, round }: ChartsProps) {
  const destination = destinationOf(endpoint.postUrl);
  const query = { interval: 'hour', destination } as const;
  const { data } = useResponse(destination, (signal) => paybell().stats(query, { signal }), round);
  const charts = useMemo(() => (data === null ? [] : endpointCharts(data, destination)), [data, destination]);
  return (
    <div class="charts">
      {charts.map((chart) => (
        <Chart key={chart.title} chart={chart} />
      ))}
    </div>
  );
}

type TilesProps = { endpoint: Endpoint; counts: ResponseState<DeliveryCounts> };

/** Counts of the deliveries to this endpoint. Each number links to the deliveries that it counts. */
export function EndpointTiles({ endpoint, counts }: TilesProps) {
  const { endpointId, lastSequence } = endpoint;
  if (counts.data === null) {
    const { problem } = counts;
    return problem?.permission ? <PartProblem problem={problem} what="Deliveries" /> : null;
  }
  const { pending, retrying, held, failed, delivered } = counts.data;
  return (
    <dl class="tiles">
      <Tile name="Waiting" value={countText(pending + retrying + held)}>
        <Status endpointId={endpointId} status="pending" count={pending} /> ·{' '}
        <Status endpointId={endpointId} status="retrying" count={retrying} /> ·{' '}
        <Status endpointId={endpointId} status="held" count={held} />
      </Tile>
      <Tile name="Failed permanently" value={countText(failed)} isBad={failed > 0}>
        <Status endpointId={endpointId} status="failed" count={failed} />
      </Tile>
      <Tile name="Delivered" value={countText(delivered)}>
        <Status endpointId={endpointId} status="delivered" count={delivered} />
      </Tile>
      <Tile name="Last sequence" value={countText(lastSequence)}>
        of its deliveries, in order
      </Tile>
    </dl>
  );
}

function Status({ endpointId, status, count }: { endpointId: string; status: DeliveryStatus; count: number }) {
  if (count === 0) return <>0 {status}</>;
  return (
    <Link to={urlFor(DASHBOARD_PATHS.deliveries, { endpointId, status })}>
      {countText(count)} {status}
    </Link>
  );
}
