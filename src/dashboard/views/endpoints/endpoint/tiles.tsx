import type { ComponentChildren } from 'preact';
import type { DeliveryCounts } from '../../../../client/deliveries.ts';
import type { Endpoint } from '../../../../client/endpoints.ts';
import type { DeliveryStatus } from '../../../../domain/attempt.ts';
import { paybell } from '../../../api.ts';
import { durationText } from '../../../components/values/duration-text.ts';
import { NotShown } from '../../../components/view/states.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { Link, urlFor } from '../../../router.tsx';
import { type ResponseState, useResponse } from '../../../use-response.ts';
import { destinationOf } from '../latency.ts';

const number = new Intl.NumberFormat();

type TilesProps = { endpoint: Endpoint; counts: ResponseState<DeliveryCounts> };

/** What was and will be sent to this endpoint alone. Each number leads to the deliveries that it counts. */
export function EndpointTiles({ endpoint, counts }: TilesProps) {
  const { endpointId, postUrl, lastSequence } = endpoint;
  const destination = destinationOf(postUrl);
  const stats = useResponse(destination, (signal) => paybell().stats({ interval: 'hour', destination }, { signal }));
  const latency = stats.data?.total.timeToReceiptMs ?? null;
  if (counts.data === null) {
    const permission = counts.problem?.permission ?? null;
    return permission === null ? null : <NotShown what="Deliveries" permission={permission} />;
  }
  const { pending, retrying, held, failed, delivered } = counts.data;
  return (
    <dl class="tiles">
      <Tile name="Waiting" value={pending + retrying + held}>
        <Status endpointId={endpointId} status="pending" count={pending} /> ·{' '}
        <Status endpointId={endpointId} status="retrying" count={retrying} /> ·{' '}
        <Status endpointId={endpointId} status="held" count={held} />
      </Tile>
      <Tile name="Failed permanently" value={failed} isBad={failed > 0}>
        <Status endpointId={endpointId} status="failed" count={failed} />
      </Tile>
      <Tile name="Delivered" value={delivered}>
        <Status endpointId={endpointId} status="delivered" count={delivered} />
      </Tile>
      <Tile name="Last number" value={lastSequence}>
        of its deliveries, in order
      </Tile>
      {latency === null || latency.p95 === null ? null : (
        <Tile name="Delivery latency" value={latency.p95} unit="p95">
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
      {number.format(count)} {status}
    </Link>
  );
}

type TileProps = { name: string; value: number | null; unit?: string; isBad?: boolean; children: ComponentChildren };

function Tile({ name, value, unit, isBad = false, children }: TileProps) {
  const text = unit === undefined ? number.format(value ?? 0) : timeText(value);
  return (
    <div class={isBad ? 'card tile tile-bad' : 'card tile'}>
      <dt>{name}</dt>
      <dd>
        <span class="tile-value number">{text}</span> {unit === undefined ? null : <span class="muted">{unit}</span>}
        <span class="tile-note small number">{children}</span>
      </dd>
    </div>
  );
}
