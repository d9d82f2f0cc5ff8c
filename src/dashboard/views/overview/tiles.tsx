import type { ComponentChildren } from 'preact';
import type { Stats } from '../../../client/paybell.ts';
import { durationText } from '../../components/values/duration-text.ts';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link, urlFor } from '../../router.tsx';
import { countText, rateText, successRate } from './figures.ts';

/** Totals of the time range. */
export function Tiles({ stats: { total, backlog } }: { stats: Stats }) {
  const { p50, p95, p99 } = total.timeToReceiptMs;
  return (
    <dl class="tiles">
      <Tile name="Accepted" value={countText(total.accepted)}>
        {total.events === null
          ? 'deliveries to this destination'
          : `deliveries of ${countText(total.events)} ${total.events === 1 ? 'event' : 'events'}`}
      </Tile>
      <Tile name="Delivered" value={countText(total.delivered)}>
        {total.failed === 0 ? (
          'none failed permanently'
        ) : (
          <Link to={urlFor(DASHBOARD_PATHS.deliveries, { status: 'failed' })}>
            {countText(total.failed)} failed permanently
          </Link>
        )}
      </Tile>
      <Tile name="Success rate" value={rateText(successRate(total))}>
        of completed deliveries
      </Tile>
      <Tile name="Delivery latency" value={timeText(p50)} unit="p50">
        p95 <strong>{timeText(p95)}</strong> · p99 <strong>{timeText(p99)}</strong>
      </Tile>
      <Tile name="Backlog" value={countText(backlog.waiting)} unit="waiting">
        {backlog.oldestDueAgeMs === 0 ? 'none overdue' : `oldest is ${durationText(backlog.oldestDueAgeMs)} overdue`}
      </Tile>
    </dl>
  );
}

function timeText(ms: number | null): string {
  return ms === null ? '–' : durationText(ms);
}

type TileProps = { name: string; value: string; unit?: string; children: ComponentChildren };

function Tile({ name, value, unit, children }: TileProps) {
  return (
    <div class="card tile">
      <dt>{name}</dt>
      <dd>
        <span class="tile-value number">{value}</span> {unit === undefined ? null : <span class="muted">{unit}</span>}
        <span class="tile-note small number">{children}</span>
      </dd>
    </div>
  );
}
