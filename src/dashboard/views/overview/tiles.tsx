import type { ComponentChildren } from 'preact';
import type { Stats } from '../../../client/types.ts';
import { spanText } from '../../components/values/duration-text.ts';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { addressOf, Link } from '../../router.tsx';
import { countText, rateText, successRate } from './figures.ts';

/** The figures of the whole range, for the first glance. */
export function Tiles({ stats: { total, backlog } }: { stats: Stats }) {
  const { p50, p95, p99 } = total.timeToReceiptMs;
  return (
    <dl class="tiles">
      <Tile name="Accepted" value={countText(total.accepted)}>
        {total.events === null ? 'for this destination' : `of ${countText(total.events)} events`}
      </Tile>
      <Tile name="Delivered" value={countText(total.delivered)}>
        {total.failed === 0 ? (
          'none given up'
        ) : (
          <Link to={addressOf(DASHBOARD_PATHS.deliveries, { status: 'failed' })}>
            {countText(total.failed)} given up
          </Link>
        )}
      </Tile>
      <Tile name="Success rate" value={rateText(successRate(total))}>
        of those that came to an end
      </Tile>
      <Tile name="Time to receipt" value={timeText(p50)} unit="p50">
        p95 <strong>{timeText(p95)}</strong> · p99 <strong>{timeText(p99)}</strong>
      </Tile>
      <Tile name="Backlog" value={countText(backlog.waiting)} unit="waiting">
        {backlog.oldestDueAgeMs === 0 ? 'none is overdue' : `the first is due for ${spanText(backlog.oldestDueAgeMs)}`}
      </Tile>
    </dl>
  );
}

function timeText(ms: number | null): string {
  return ms === null ? '–' : spanText(ms);
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
