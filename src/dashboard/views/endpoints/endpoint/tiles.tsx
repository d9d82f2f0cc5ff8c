import type { DeliveryCounts } from '../../../../client/deliveries.ts';
import type { Endpoint } from '../../../../client/endpoints.ts';
import type { DeliveryStatus } from '../../../../domain/attempt.ts';
import { paybell } from '../../../api.ts';
import { countText } from '../../../components/values/count-text.ts';
import { durationText } from '../../../components/values/duration-text.ts';
import { PartProblem } from '../../../components/view/loaded.tsx';
import { Tile } from '../../../components/view/tile.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { Link, urlFor } from '../../../router.tsx';
import { type ResponseState, useResponse } from '../../../use-response.ts';
import { destinationOf } from '../latency.ts';

type TilesProps = { endpoint: Endpoint; counts: ResponseState<DeliveryCounts> };

/** What was and will be sent to this endpoint alone. Each number leads to the deliveries that it counts. */
export function EndpointTiles({ endpoint, counts }: TilesProps) {
  const { endpointId, postUrl, lastSequence } = endpoint;
  const destination = destinationOf(postUrl);
  const stats = useResponse(destination, (signal) => paybell().stats({ interval: 'hour', destination }, { signal }));
  const latency = stats.data?.total.timeToReceiptMs ?? null;
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
      <Tile name="Last number" value={countText(lastSequence)}>
        of its deliveries, in order
      </Tile>
      {latency === null || latency.p95 === null ? null : (
        <Tile name="Delivery latency" value={timeText(latency.p95)} unit="p95">
          p50 {timeText(latency.p50)} · p99 {timeText(latency.p99)}, last 24 hours, all of its host
        </Tile>
      )}
    </dl>
  );
}

function timeText(ms: number | null): string {
  return ms === null ? '–' : durationText(ms);
}

function Status({ endpointId, status, count }: { endpointId: string; status: DeliveryStatus; count: number }) {
  if (count === 0) return <>0 {status}</>;
  return (
    <Link to={urlFor(DASHBOARD_PATHS.deliveries, { endpointId, status })}>
      {countText(count)} {status}
    </Link>
  );
}
